package visit

import "strings"

// browsers and systems are parts of the User-Agent header with the names that lists show. The first part that a header
// contains decides.
var (
	browsers = [][2]string{{"Edg/", "Edge"}, {"EdgA/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}}
	systems  = [][2]string{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}}
)

// browser returns a short description of a User-Agent header: "Firefox on Linux".
func browser(agent string) string {
	name, system := "Browser", ""
	for _, b := range browsers {
		if strings.Contains(agent, b[0]) {
			name = b[1]
			break
		}
	}
	for _, s := range systems {
		if strings.Contains(agent, s[0]) {
			system = " on " + s[1]
			break
		}
	}
	return name + system
}
