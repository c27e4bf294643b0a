package visit

// Browser is browser.
func Browser(agent string) string { return browser(agent) }
