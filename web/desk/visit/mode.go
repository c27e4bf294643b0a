package visit

import (
	"strings"

	"chequer/views/desk"
)

// Test reports whether the query of the page selects test data. Without a selection the data is live.
func (v *Visit) Test() bool { return v.QueryParam("mode") == "test" }

// BelowIn returns the address of a path below the shop, which may have a query, for live or test data.
func (v *Visit) BelowIn(path string, test bool) string {
	switch {
	case !test:
		return v.Below(path)
	case strings.Contains(path, "?"):
		return v.Below(path + "&mode=test")
	}
	return v.Below(path + "?mode=test")
}

// FrameIn returns the frame of a page that exists for live and for test data. Place is the path of its place, and
// path its own.
func (v *Visit) FrameIn(title, place, path string, test bool) (desk.Frame, error) {
	f, err := v.Frame(title, place)
	f.Test, f.LiveURL, f.TestURL = test, v.BelowIn(path, false), v.BelowIn(path, true)
	return f, err
}
