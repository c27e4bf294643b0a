package desk

import "slices"

// Routes returns the method and the path of every route of the router, without those for HEAD.
func (h *Desk) Routes() []string {
	var all []string
	for _, r := range h.echo.Routes() {
		if r.Method != "HEAD" && r.Method != "echo_route_not_found" {
			all = append(all, r.Method+" "+r.Path)
		}
	}
	slices.Sort(all)
	return all
}

// LocalPath is localPath.
func (h *Desk) LocalPath(address string) string { return h.localPath(address) }

// Browser is browser.
func Browser(agent string) string { return browser(agent) }
