package visit

// Browser returns a short description of a User-Agent header, see browser.
func Browser(agent string) string { return browser(agent) }
