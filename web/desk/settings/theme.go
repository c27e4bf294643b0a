// Package settings shows and changes the settings of a shop at the desk.
package settings

import (
	"bytes"
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
	"chequer/internal/report"
	"chequer/internal/theme"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// Screens are the pages of the settings.
type Screens struct {
	Backups Backups
	Reports *report.Service
	// NamedShop is the ID of the shop whose name CHEQUER_SHOP_NAME sets; "" if none.
	NamedShop string

	drafts drafts
}

// page is a visit to one of the screens.
type page struct {
	*visit.Visit
	*Screens
}

// themePlace is the path of the page of the theme.
const themePlace = "/theme"

// maxTheme is the limit for the body of the form of a theme: a logo and the texts.
const maxTheme = "1200K"

// Routes lists the pages and the actions of the screens.
func (s *Screens) Routes() []visit.Route {
	on := visit.Pages(func(v *visit.Visit) *page { return &page{v, s} })
	return []visit.Route{
		{Method: http.MethodGet, Path: "/desk/:shop/theme", Needs: account.Configure, Handle: on((*page).theme)},
		{Method: http.MethodPost, Path: "/desk/:shop/theme", Needs: account.Configure, Handle: on((*page).setTheme), MaxBody: maxTheme},
		{Method: http.MethodGet, Path: "/desk/:shop/theme/preview/:hash", Needs: account.Configure, Handle: on((*page).preview)},
		{Method: http.MethodGet, Path: "/desk/:shop/theme/preview/:hash/:file", Needs: account.Configure, Handle: on((*page).previewAsset)},
		{Method: http.MethodGet, Path: "/desk/:shop/payment-settings", Needs: account.Configure, Handle: on((*page).paymentSettings)},
		{Method: http.MethodPost, Path: "/desk/:shop/payment-settings", Needs: account.Configure, Handle: on((*page).setPaymentSettings)},
		{Method: http.MethodGet, Path: "/desk/:shop/setup", Needs: account.ManageShops, Handle: on((*page).setup)},
		{Method: http.MethodPost, Path: "/desk/:shop/setup", Needs: account.ManageShops, Handle: on((*page).saveSetup)},
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
	return v.showTheme(http.StatusOK, t, enteredTheme{Theme: t, replaces: t.Hash()})
}

// enteredTheme is a theme that was entered, with the other values of the form.
type enteredTheme struct {
	theme.Theme
	replaces string // hash of the theme that the account has seen
	draft    string // hash of the draft with the chosen logo; "" if none was chosen
	removes  bool   // the theme gets no logo
	unsaved  bool
	problem  string            // above the form
	fault    *theme.FieldError // at a field
}

// showTheme shows the form for a theme, and the page of a sample invoice in that theme. If the theme has a fault, the
// page is in the current theme.
func (v *page) showTheme(status int, current theme.Theme, e enteredTheme) error {
	f, err := v.Frame(v.Text("desk.theme"), v.SettingsPath())
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
		Frame: f, Tabs: v.SettingsTabs(themePlace), Problem: e.problem, Action: v.Below(themePlace), Hidden: []desk.Hidden{{Name: "replaces", Value: e.replaces}},
		Name:    field("name", "desk.theme.name", "desk.theme.name.hint", e.Name),
		Logo:    field("logo", "desk.theme.logo", "desk.theme.logo.hint", ""),
		Accent:  field("accent", "desk.theme.accent", "desk.theme.accent.hint", e.Accent),
		Line:    field("line", "desk.theme.line", "", e.Line),
		Support: field("support", "desk.theme.support", "desk.theme.support.hint", strings.TrimPrefix(e.Support, "mailto:")),
		Terms:   field("terms", "desk.theme.terms", "desk.theme.terms.hint", e.Terms),
		Returns: !e.Stay, Removes: e.removes, Draft: e.draft,
	}
	shown := e.Theme
	if e.fault != nil {
		shown = current
		form.Preview.Fault = v.Text("desk.theme.fault", "Fault", v.Text(faultLabels[e.fault.Field])+" "+e.fault.Fault+".")
	}
	form.Preview.Frame = v.addDraft(shown)
	if len(current.Logo.Body) > 0 {
		form.SavedLogo = v.Address("/look/" + current.Hash() + "/logo" + current.Logo.Ending())
		form.SavedText = v.Text("desk.theme.logo.saved", "Size", strconv.Itoa(len(current.Logo.Body)))
	}
	if e.unsaved {
		form.Unsaved = v.Text("desk.theme.unsaved")
	}
	// The accent is checked here again, because the check of the theme ends at its first fault.
	if _, err := theme.Normalize(theme.Theme{Accent: e.Accent}); e.Accent != "" && err == nil {
		form.Preview.Contrast = v.contrasts(e.Accent)
	}
	v.AllowFrame()
	return v.Show(status, desk.ThemePage(form))
}

// faultLabels are the keys of the labels of the fields that may have a fault.
var faultLabels = map[string]string{
	"name": "desk.theme.name", "logo": "desk.theme.logo", "accent": "desk.theme.accent", "line": "desk.theme.line", "support": "desk.theme.support", "terms": "desk.theme.terms",
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
	e := enteredTheme{replaces: v.FormValue("replaces"), draft: v.FormValue("draft"), removes: v.FormValue("remove") != "", unsaved: true, Theme: theme.Theme{
		Name: v.FormValue("name"), Accent: strings.TrimSpace(v.FormValue("accent")), Line: v.FormValue("line"),
		Support: strings.TrimSpace(v.FormValue("support")), Terms: strings.TrimSpace(v.FormValue("terms")), Stay: v.FormValue("return") == "",
	}}
	current, err := v.Themes.Current(ctx, v.Shop.ID)
	if err != nil {
		return err
	}
	file, err := v.chosenLogo(current, e)
	if err == nil && v.FormValue("action") == "preview" {
		return v.previewTheme(current, e, file)
	}
	if err == nil {
		_, err = v.Themes.Replace(ctx, v.Shop.ID, e.replaces, e.Theme, file)
	}
	switch {
	case errors.As(err, &e.fault):
		return v.showTheme(http.StatusUnprocessableEntity, current, e)
	case errors.Is(err, merchant.ErrStale):
		e.problem, e.replaces = v.Text("desk.theme.stale", "Changes", v.differences(current, e.Theme)), current.Hash()
		return v.showTheme(http.StatusConflict, current, e)
	case err != nil:
		return err
	}
	return v.Done(v.Below(themePlace), "theme")
}

// previewTheme shows an entered theme, with a logo made from a file, without saving it.
func (v *page) previewTheme(current theme.Theme, e enteredTheme, file []byte) error {
	normalized, err := theme.New(e.Theme, current.Logo, file)
	if errors.As(err, &e.fault) {
		return v.showTheme(http.StatusUnprocessableEntity, current, e)
	}
	if err != nil {
		return err
	}
	e.Theme, e.draft = normalized, ""
	if len(normalized.Logo.Body) > 0 && !bytes.Equal(normalized.Logo.Body, current.Logo.Body) {
		e.draft = normalized.Hash()
	}
	return v.showTheme(http.StatusOK, current, e)
}

// chosenLogo returns the file of the logo of an entered theme: the file that the form sends, the logo of its draft, or the
// current logo. It is nil for no logo. The error is a *theme.FieldError if the draft is no longer kept.
func (v *page) chosenLogo(current theme.Theme, e enteredTheme) ([]byte, error) {
	file, err := v.sentLogo()
	switch {
	case err != nil:
		return nil, err
	case e.removes:
		return nil, nil
	case len(file) > 0:
		return file, nil
	case e.draft == "":
		return current.Logo.Body, nil
	}
	kept, found := v.drafts.find(v.draftKey(e.draft))
	if !found {
		return nil, &theme.FieldError{Field: "logo", Fault: v.Text("desk.theme.logo.again")}
	}
	return kept.Logo.Body, nil
}

// differences names the text fields in which a theme differs from the current one, with the current values. It ignores the
// logo and the choice of returning automatically.
func (v *page) differences(current, entered theme.Theme) string {
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

// sentLogo returns the file of the logo that the form sends; nil if it sends none.
func (v *page) sentLogo() ([]byte, error) {
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

// readFile reads a file of a form. It reads at most one byte more than a logo may have, so that a larger file is refused.
func readFile(header *multipart.FileHeader) ([]byte, error) {
	f, err := header.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, theme.MaxLogoFile+1))
}
