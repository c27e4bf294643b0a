package sell

import (
	"errors"
	"maps"
	"net/http"
	"time"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/wire"
	"chequer/internal/zone"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// linkFields are the names of the fields of a link, without the payment methods. Only a new link has the first, the slug.
var linkFields = []string{"slug", "amount", "fiat_currency", "description", "language", "ends_at", "max_uses", "url_success", "url_failure"}

// endLayouts are the accepted layouts of the end of a link. The form shows it in the first layout.
var endLayouts = []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02"}

// endText returns the end of a link as its form shows it, in a zone.
func endText(at time.Time, zone *time.Location) string {
	if at.IsZero() {
		return ""
	}
	return at.In(zone).Format(endLayouts[0])
}

// readEnd returns the end of a link, which was typed as a time in a zone, in the format of the API. The error is a
// *merchant.FieldError.
func readEnd(text string, zone *time.Location) (string, error) {
	if text == "" {
		return "", nil
	}
	for _, layout := range endLayouts {
		at, err := time.ParseInLocation(layout, text, zone)
		switch {
		case err != nil:
			continue
		case !matchesTyped(at, layout, text):
			return "", &merchant.FieldError{Field: "ends_at", Fault: "is a time that the clocks of " + zone.String() + " skip"}
		}
		return wire.Time(at), nil
	}
	return "", &merchant.FieldError{Field: "ends_at", Fault: "must be a day and a time such as 2026-12-31 18:00"}
}

// matchesTyped reports whether a time has the day and the clock time of the text that it was parsed from. It has another
// clock time if the clocks of its zone skip the typed time. See time.Date.
func matchesTyped(at time.Time, layout, text string) bool {
	typed, err := time.Parse(layout, text)
	return err == nil && at.Format(time.DateTime) == typed.Format(time.DateTime)
}

// linkValues returns the values of a link as its form shows them, in a zone.
func linkValues(l merchant.Link, zone *time.Location) map[string]string {
	values := map[string]string{
		"slug": l.Slug, "amount": l.Amount, "fiat_currency": l.Currency, "description": l.Description, "language": l.Language,
		"ends_at": endText(l.EndsAt, zone), "max_uses": digitsText(l.MaxUses), "url_success": l.URLSuccess, "url_failure": l.URLFailure,
	}
	visit.SetPositions(values, l.Methods)
	return values
}

// linkChange returns the change that the values of a form describe, typed in a zone. The error is a *merchant.FieldError.
func linkChange(values map[string]string, codes []string, zone *time.Location) (api.LinkChange, error) {
	uses, err := readWhole("max_uses", values["max_uses"], merchant.MaxLinkUses)
	if err != nil {
		return api.LinkChange{}, err
	}
	ends, err := readEnd(values["ends_at"], zone)
	if err != nil {
		return api.LinkChange{}, err
	}
	methods, err := visit.ChosenMethods(values, codes)
	value := func(name string) *string { text := values[name]; return &text }
	amount := visit.DecimalPoint(values["amount"])
	return api.LinkChange{
		Amount: &amount, FiatCurrency: value("fiat_currency"), Description: value("description"), Language: value("language"),
		URLSuccess: value("url_success"), URLFailure: value("url_failure"), PaymentMethods: &methods, EndsAt: &ends, MaxUses: &uses,
	}, err
}

// zoneField is the name of the field with the time zone in which a form shows the end of a link.
const zoneField = "zone"

// formZone returns the time zone in which the form that was sent showed the end of a link: that of the books, unless it
// was changed since.
func (v *page) formZone() *time.Location {
	if shown, err := zone.Load(v.Request().PostFormValue(zoneField)); err == nil {
		return shown
	}
	return v.Zone()
}

// hiddenZone returns the field with the time zone of the form.
func (v *page) hiddenZone() []desk.Hidden {
	return []desk.Hidden{{Name: zoneField, Value: v.formZone().String()}}
}

// newLink shows the form of a new link.
func (v *page) newLink() error {
	return v.showNewLink(http.StatusOK, map[string]string{"fiat_currency": v.shopCurrency()}, nil)
}

func (v *page) showNewLink(status int, values map[string]string, problem error) error {
	mode := v.mode()
	frame, err := v.listFrame(v.Text("desk.link.add"), linksPath+"/new", mode)
	if err != nil {
		return err
	}
	f := &form{page: v, values: values, problem: problem}
	slug := f.field("slug", v.Text("desk.slug"), v.Text("desk.link.slug.hint", "URL", v.BaseURL+"/pay/"))
	return v.Show(status, desk.SellFormPage(desk.SellForm{
		Frame: frame, Back: views.Link{Text: v.Text("desk.links"), URL: v.BelowIn(linksPath, mode == merchant.Test)}, Heading: v.Text("desk.link.add"), Problem: f.problemText(),
		Action: v.BelowIn(linksPath+"/new", mode == merchant.Test), Hidden: v.hiddenZone(), Inputs: append([][]desk.Input{{slug}}, f.linkInputs()...),
		Methods: f.methodChoice(mode, v.MethodCodes(mode, "")), Button: v.Text("desk.link.add"),
	}))
}

// linkInputs returns the fields that the forms of a new and of an existing link share.
func (f *form) linkInputs() [][]desk.Input {
	return [][]desk.Input{
		{f.money("amount", f.Text("desk.amount"), f.Text("desk.link.amount.hint")), f.currency()},
		{f.lines("description", f.Text("desk.description"), f.Text("desk.link.description.hint"), 2)},
		{f.field("ends_at", f.Text("desk.link.ends", "Zone", f.formZone().String()), f.Text("desk.link.ends.hint")), f.digits("max_uses", f.Text("desk.link.uses"), f.Text("desk.link.uses.hint"))},
		{f.field("url_success", f.Text("desk.link.success"), f.Text("desk.link.success.hint"))},
		{f.field("url_failure", f.Text("desk.link.failure"), "")},
		{f.language()},
	}
}

// language returns the list of the languages of a link's pages.
func (f *form) language() desk.Input {
	pairs := []string{"", f.Text("desk.link.language.any")}
	chosen := f.values["language"]
	listed := chosen == ""
	for _, l := range f.Languages(f.Request().Context(), f.Shop.ID).List() {
		pairs = append(pairs, l.Code, l.Name)
		listed = listed || l.Code == chosen
	}
	if !listed {
		pairs = append(pairs, chosen, chosen)
	}
	return f.choice("language", f.Text("desk.fact.language"), pairs...)
}

// addLink creates a link. Without a slug it gets a random one.
func (v *page) addLink() error {
	mode := v.mode()
	codes := v.MethodCodes(mode, "")
	values := v.typed(append(visit.PositionNames(codes), linkFields...))
	l := merchant.Link{MerchantID: v.Shop.ID, Mode: mode, Slug: values["slug"]}
	c, err := linkChange(values, codes, v.formZone())
	if err == nil {
		err = wire.ChangeLink(&l, c)
	}
	if err == nil {
		l, err = v.Links.Create(v.Request().Context(), l)
	}
	if err = v.takenSlugError(err); isShownInForm(err) {
		return v.showNewLink(http.StatusUnprocessableEntity, values, err)
	}
	if err != nil {
		return err
	}
	return v.Done(v.Below(linksPath+"/"+l.Slug+"/edit"), "link-added")
}

// link shows the form of the link in the path.
func (v *page) link() error { return v.editLink(http.StatusOK, nil, nil) }

// editLink shows the form of the link in the path with the values that the account typed, or with those of the
// link if typed is nil.
func (v *page) editLink(status int, typed map[string]string, problem error) error {
	l, err := v.ownLink()
	if err != nil {
		return err
	}
	f := &form{page: v, values: linkValues(l, v.formZone()), problem: problem}
	if errors.Is(problem, merchant.ErrStale) {
		f.stored = maps.Clone(f.values)
	}
	maps.Copy(f.values, typed)
	name := "/pay/" + l.Slug
	frame, err := v.objectFrame(name, l.Mode)
	if err != nil {
		return err
	}
	address := v.Below(linksPath + "/" + l.Slug)
	view := desk.SellForm{
		Frame: frame, Back: views.Link{Text: v.Text("desk.links"), URL: v.BelowIn(linksPath, l.Mode == merchant.Test)}, Heading: name, State: v.linkState(l), Problem: f.problemText(),
		Action: address + "/edit", Version: v.seenRevision(l.Revision(), typed != nil && isShownInForm(problem)), Hidden: v.hiddenZone(), Inputs: f.linkInputs(),
		Methods: f.methodChoice(l.Mode, v.MethodCodes(l.Mode, l.Methods)), Button: v.Text("desk.save"),
		Sales:  v.salesLink(invoice.FromLink, l.Slug, l.Mode),
		Build:  v.builderLink("pay/"+l.Slug, l.Mode),
		Remove: views.Link{Text: v.Text("desk.remove.ask"), URL: address + "/remove"},
	}
	if view.Facts, err = v.linkFacts(l); err != nil {
		return err
	}
	if view.Share, err = v.share(v.Text("desk.link.page"), v.BaseURL+name, true); err != nil {
		return err
	}
	return v.Show(status, desk.SellFormPage(view))
}

// changeLink changes the link in the path.
func (v *page) changeLink() error {
	l, err := v.ownLink()
	if err != nil {
		return err
	}
	codes := v.MethodCodes(l.Mode, l.Methods)
	values := v.typed(append(visit.PositionNames(codes), linkFields[1:]...))
	c, err := linkChange(values, codes, v.formZone())
	if err == nil {
		_, err = v.Links.ChangeSeen(v.Request().Context(), v.Shop.ID, l.Mode, l.Slug, v.FormValue("version"), func(l *merchant.Link) error {
			c := c // the function may be called again
			if values["ends_at"] == endText(l.EndsAt, v.formZone()) {
				c.EndsAt = nil // the form shows no seconds
			}
			return wire.ChangeLink(l, c)
		})
	}
	switch {
	case errors.Is(err, merchant.ErrStale):
		return v.editLink(http.StatusConflict, values, err)
	case isShownInForm(err):
		return v.editLink(http.StatusUnprocessableEntity, values, err)
	case err != nil:
		return err
	}
	return v.Done(v.Below(linksPath+"/"+l.Slug+"/edit"), "link-changed")
}
