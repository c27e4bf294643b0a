package visit

import (
	"strings"

	"chequer/views/desk"
)

// IsTest reports whether the query of the page selects test mode. Without a selection the page is in live mode.
func (v *Visit) IsTest() bool { return v.QueryParam("mode") == "test" }

// BelowIn returns the address of a path below the shop, which may have a query, in test mode or in live mode.
func (v *Visit) BelowIn(path string, test bool) string {
	switch {
	case !test:
		return v.Below(path)
	case strings.Contains(path, "?"):
		return v.Below(path + "&mode=test")
	}
	return v.Below(path + "?mode=test")
}

// FrameIn returns the frame of a page that exists in live and in test mode. place is the path of the page's place in the
// side bar, and path the path of the page itself.
func (v *Visit) FrameIn(title, place, path string, test bool) (desk.Frame, error) {
	f, err := v.Frame(title, place)
	if err != nil {
		return f, err
	}
	return f, v.AddModes(&f, test, v.BelowIn(path, false), v.BelowIn(path, true))
}

// FrameOf returns the frame of a page whose content exists in one mode only, such as an invoice. In the live mode of a demo the
// page states that there are test payments only. place is the path of the page's place in the side bar.
func (v *Visit) FrameOf(title, place string, test bool) (desk.Frame, error) {
	f, err := v.Frame(title, place)
	if err != nil {
		return f, err
	}
	return f, v.AddModes(&f, test, "", "")
}

// AddModes adds to a frame the choice between live and test mode, with the address of the page in each. In the live mode
// of a demo the page states that there are test payments only.
func (v *Visit) AddModes(f *desk.Frame, test bool, liveURL, testURL string) (err error) {
	f.Test, f.LiveURL, f.TestURL = test, liveURL, testURL
	f.Demo, err = v.IsDemo(v.Request().Context())
	return err
}
