// Package settings shows and changes the settings of a shop at the desk.
package settings

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
	"chequer/internal/merchant"
	"chequer/internal/theme"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// Screens are the pages of the settings.
type Screens struct {
	Backups Backups
	// NamedShop is the ID of the shop whose name CHEQUER_SHOP_NAME sets; "" if none.
	NamedShop string
}

// page is a visit to one of the screens.
type page struct {
	*visit.Visit
	*Screens
}

// place is the path of the page of the theme.
const place = "/theme"

// maxTheme is the limit for the body of the form of a theme: a logo and the texts.
const maxTheme = "1200K"

// Routes lists the pages and the actions of the screens.
func (s *Screens) Routes() []visit.Route {
	on := visit.Pages(func(v *visit.Visit) *page { return &page{v, s} })
	return []visit.Route{
		{Method: http.MethodGet, Path: "/desk/:shop/theme", Needs: account.Configure, Handle: on((*page).theme)},
		{Method: http.MethodPost, Path: "/desk/:shop/theme", Needs: account.Configure, Handle: on((*page).setTheme), MaxBody: maxTheme},
		{Method: http.MethodGet, Path: "/desk/:shop/theme/preview.css", Needs: account.Configure, Handle: on((*page).previewStyle)},
		{Method: http.MethodGet, Path: "/desk/:shop/payment-settings", Needs: account.Configure, Handle: on((*page).paymentSettings)},
		{Method: http.MethodPost, Path: "/desk/:shop/payment-settings", Needs: account.Configure, Handle: on((*page).setPaymentSettings)},
		{Method: http.MethodGet, Path: "/desk/:shop/shop", Needs: account.ManageShops, Handle: on((*page).shop)},
		{Method: http.MethodPost, Path: "/desk/:shop/shop", Needs: account.ManageShops, Handle: on((*page).renameShop)},
		{Method: http.MethodPost, Path: "/desk/:shop/shops", Needs: account.ManageShops, Handle: on((*page).createShop)},
		{Method: http.MethodGet, Path: "/desk/:shop/backup", Needs: account.BackUp, Handle: on((*page).backup)},
		{Method: http.MethodPost, Path: "/desk/:shop/backup", Needs: account.BackUp, Handle: on((*page).download)},
	}
}

// theme shows the form for the theme.
func (v *page) theme() error {
	t, err := v.Themes.Current(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return err
	}
	return v.showTheme(http.StatusOK, t, entered{Theme: t, replaces: t.Hash()})
}

// entered is a theme that was entered, with what the form shows about it.
type entered struct {
	theme.Theme
	replaces string // hash of the theme that the account has seen
	unsaved  bool
	problem  string
	fault    *theme.FieldError
}

// showTheme shows the form for a theme. The logo is the current one: the page does not keep an upload.
func (v *page) showTheme(status int, current theme.Theme, e entered) error {
	f, err := v.Frame(v.Text("desk.theme"), v.Settings())
	if err != nil {
		return err
	}
	field := func(name, label, hint, value string) desk.Field {
		field := v.TextField(name, label, hint, value)
		if e.fault != nil && e.fault.Field == name {
			field.Error = v.Text(label) + " " + e.fault.Fault
		}
		return field
	}
	form := desk.Theme{
		Frame: f, Tabs: v.Tabs(place), Problem: e.problem, Action: v.Below(place), Hidden: []desk.Hidden{{Name: "replaces", Value: e.replaces}},
		Name:    field("name", "desk.theme.name", "desk.theme.name.hint", e.Name),
		Logo:    field("logo", "desk.theme.logo", "desk.theme.logo.hint", ""),
		Accent:  field("accent", "desk.theme.accent", "desk.theme.accent.hint", e.Accent),
		Line:    field("line", "desk.theme.line", "", e.Line),
		Support: field("support", "desk.theme.support", "desk.theme.support.hint", strings.TrimPrefix(e.Support, "mailto:")),
		Terms:   field("terms", "desk.theme.terms", "desk.theme.terms.hint", e.Terms),
		Returns: !e.Stay,
		Preview: desk.Preview{Shop: v.Shop.Name, Line: e.Line},
	}
	if e.Name != "" {
		form.Preview.Shop = e.Name
	}
	if len(current.Logo.Body) > 0 {
		form.SavedLogo = v.Address("/look/" + current.Hash() + "/logo" + current.Logo.Ending())
		form.SavedText = v.Text("desk.theme.logo.saved", "Size", strconv.Itoa(len(current.Logo.Body)))
	}
	if e.unsaved {
		form.Unsaved = v.Text("desk.theme.unsaved")
	}
	// The theme was checked only up to its first fault.
	if _, err := theme.Normalize(theme.Theme{Accent: e.Accent}); e.Accent != "" && err == nil {
		form.Preview.Style = v.Below(place + "/preview.css?accent=" + strings.TrimPrefix(e.Accent, "#"))
		form.Preview.Contrast = v.contrasts(e.Accent)
	}
	return v.Show(status, desk.ThemePage(form))
}

// contrastTexts are the keys of the sentences about an accent in a colour scheme, as it is or adapted.
var contrastTexts = map[string]struct{ unchanged, adapted string }{
	"light": {"desk.theme.contrast.light", "desk.theme.contrast.light.adapted"},
	"dark":  {"desk.theme.contrast.dark", "desk.theme.contrast.dark.adapted"},
}

// contrasts describes the colours that are derived from an accent, one sentence for each colour scheme.
func (v *page) contrasts(accent string) (all []string) {
	for _, p := range theme.Palettes(accent) {
		own, text := p.Contrast()
		ids := contrastTexts[p.Scheme]
		if p.Ink == accent {
			all = append(all, v.Text(ids.unchanged, "Accent", accent, "Contrast", own))
		} else {
			all = append(all, v.Text(ids.adapted, "Accent", accent, "Contrast", own, "Ink", p.Ink, "Text", text))
		}
	}
	return all
}

// setTheme saves a theme, or shows it without saving it.
func (v *page) setTheme() error {
	ctx := v.Request().Context()
	e := entered{replaces: v.FormValue("replaces"), unsaved: true, Theme: theme.Theme{
		Name: v.FormValue("name"), Accent: strings.TrimSpace(v.FormValue("accent")), Line: v.FormValue("line"),
		Support: strings.TrimSpace(v.FormValue("support")), Terms: strings.TrimSpace(v.FormValue("terms")), Stay: v.FormValue("return") == "",
	}}
	current, err := v.Themes.Current(ctx, v.Shop.ID)
	if err != nil {
		return err
	}
	file, err := v.logo()
	if err != nil {
		return err
	}
	switch {
	case len(file) == 0 && v.FormValue("remove") == "":
		file = current.Logo.Body
	case v.FormValue("remove") != "":
		file = nil
	}
	if v.FormValue("action") == "preview" {
		normal, err := theme.Normalize(e.Theme)
		if errors.As(err, &e.fault) {
			return v.showTheme(http.StatusUnprocessableEntity, current, e)
		}
		if err != nil {
			return err
		}
		e.Theme = normal
		return v.showTheme(http.StatusOK, current, e)
	}
	_, err = v.Themes.Replace(ctx, v.Shop.ID, e.replaces, e.Theme, file)
	switch {
	case errors.As(err, &e.fault):
		return v.showTheme(http.StatusUnprocessableEntity, current, e)
	case errors.Is(err, merchant.ErrStale):
		e.problem, e.replaces = v.Text("desk.theme.stale", "Changes", v.changed(current, e.Theme)), current.Hash()
		return v.showTheme(http.StatusConflict, current, e)
	case err != nil:
		return err
	}
	return v.Done(v.Below(place), "theme")
}

// changed names the fields in which a theme differs from the current one, with the current values.
func (v *page) changed(current, entered theme.Theme) string {
	var all []string
	for _, f := range []struct{ label, current, entered string }{
		{"desk.theme.name", current.Name, entered.Name},
		{"desk.theme.accent", current.Accent, entered.Accent},
		{"desk.theme.line", current.Line, entered.Line},
		{"desk.theme.support", strings.TrimPrefix(current.Support, "mailto:"), entered.Support},
		{"desk.theme.terms", current.Terms, entered.Terms},
	} {
		if f.current != f.entered {
			all = append(all, v.Text("desk.theme.now", "Field", v.Text(f.label), "Value", f.current))
		}
	}
	return strings.Join(all, "; ")
}

// logo returns the file of the logo that the form sends; nil if it sends none.
func (v *page) logo() ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(v.Request().Header.Get(echo.HeaderContentType)); err != nil || kind != echo.MIMEMultipartForm {
		return nil, nil
	}
	header, err := v.FormFile("logo")
	if errors.Is(err, http.ErrMissingFile) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readFile(header)
}

// readFile reads a file of a form, up to one byte more than a logo may have.
func readFile(header *multipart.FileHeader) ([]byte, error) {
	f, err := header.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, theme.MaxLogoFile+1))
}

// previewStyle returns the style sheet of the preview of an accent.
func (v *page) previewStyle() error {
	t, err := theme.Normalize(theme.Theme{Accent: "#" + v.QueryParam("accent")})
	if err != nil {
		return echo.ErrNotFound
	}
	return v.Blob(http.StatusOK, "text/css; charset=utf-8", []byte(t.Variables(".mini")))
}
