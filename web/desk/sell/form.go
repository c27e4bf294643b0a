package sell

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// form is a form about a product, a link or a terminal.
type form struct {
	*page
	values  map[string]string // stored or typed values, by the name of the field
	stored  map[string]string // the present values if another account has changed the object since the form was loaded, otherwise nil
	problem error             // reason why the values were refused
}

// typed returns the values that the account typed into the fields with the given names.
func (v *page) typed(names []string) map[string]string {
	values := map[string]string{}
	for _, name := range names {
		values[name] = v.value(name)
	}
	return values
}

// value returns the value of a field as text that SQLite and PostgreSQL accept: valid UTF-8 without NUL.
func (v *page) value(name string) string {
	text := strings.ReplaceAll(v.FormValue(name), "\r\n", "\n")
	return strings.ReplaceAll(strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD"), "\x00", "\uFFFD")
}

// field returns a field of one line.
func (f *form) field(name, label, hint string) desk.Input {
	return desk.Input{Text: desk.Field{
		Name: name, Label: label, Hint: hint, Value: f.values[name], Error: f.fault(name, label), Kind: "text", Complete: "off",
	}}
}

// lines returns a field of several lines.
func (f *form) lines(name, label, hint string, lines int) desk.Input {
	i := f.field(name, label, hint)
	i.Text.Lines = lines
	return i
}

// digits returns a field for a whole number.
func (f *form) digits(name, label, hint string) desk.Input {
	i := f.field(name, label, hint)
	i.Text.Digits = true
	return i
}

// money returns a field for an amount.
func (f *form) money(name, label, hint string) desk.Input {
	i := f.field(name, label, hint)
	i.Text.Decimal = true
	return i
}

// choice returns a list to choose from. pairs are values, each followed by its text.
func (f *form) choice(name, label string, pairs ...string) desk.Input {
	c := desk.Choice{Name: name, Label: label, Error: f.fault(name, label)}
	for i := 0; i < len(pairs); i += 2 {
		c.Options = append(c.Options, desk.Option{Value: pairs[i], Text: pairs[i+1], Chosen: f.values[name] == pairs[i]})
	}
	return desk.Input{Choice: c}
}

// fault returns the text that a field shows as its error: the broken rule, or the value that another
// change stored.
func (f *form) fault(name, label string) string {
	if wrong, ok := errors.AsType[*merchant.FieldError](f.problem); ok && wrong.Field == name {
		return f.Text("desk.field.fault", "Name", label, "Fault", wrong.Fault)
	}
	if current := f.stored[name]; f.stored != nil && current != f.values[name] {
		if current == "" { // another account emptied the field
			return f.Text("desk.field.emptied")
		}
		return f.Text("desk.field.stored", "Value", current)
	}
	return ""
}

// problemText returns the text about the problem that the form shows above its fields; "" if there is none.
func (f *form) problemText() string {
	_, isField := errors.AsType[*merchant.FieldError](f.problem)
	switch {
	case isField:
		return f.Text("desk.problem.field")
	case errors.Is(f.problem, merchant.ErrStale):
		return f.Text("desk.problem.changed")
	case errors.Is(f.problem, merchant.ErrTooMany):
		return f.Text("desk.problem.products", "Number", strconv.Itoa(merchant.MaxProducts))
	}
	return ""
}

// isShownInForm reports whether a form shows the error: the answer is then the form with the error.
func isShownInForm(err error) bool {
	_, isField := errors.AsType[*merchant.FieldError](err)
	return isField || errors.Is(err, merchant.ErrTooMany)
}

// seenRevision returns the revision that a form sends: that of the object, or that of the refused form, so that a
// change between the two attempts is still noticed.
func (v *page) seenRevision(revision string, refused bool) string {
	if refused {
		return v.FormValue("version")
	}
	return revision
}

// takenSlugError returns a *merchant.FieldError for the error about a slug that is in use, and other errors unchanged.
func (v *page) takenSlugError(err error) error {
	if errors.Is(err, merchant.ErrExists) {
		return &merchant.FieldError{Field: "slug", Fault: v.Text("desk.slug.taken")}
	}
	return err
}

// readWhole returns a whole number that was typed, at most maximum; 0 for an empty text. The error is a
// *merchant.FieldError.
func readWhole(field, text string, maximum int) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		n = -1 // CheckWhole refuses it
	}
	if err := merchant.CheckWhole(n, 0, maximum); err != nil {
		return 0, &merchant.FieldError{Field: field, Fault: err.Error()}
	}
	return n, nil
}

// digitsText returns a number as a form shows it: "" for 0.
func digitsText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// currency returns the list of currencies.
func (f *form) currency() desk.Input {
	codes := f.Prices.Codes()
	pairs := make([]string, 0, 2*len(codes)+2)
	listed := false
	for _, code := range codes {
		pairs = append(pairs, code, code)
		listed = listed || code == f.values["fiat_currency"]
	}
	if chosen := f.values["fiat_currency"]; !listed && chosen != "" {
		pairs = append(pairs, chosen, chosen)
	}
	return f.choice("fiat_currency", f.Text("desk.currency"), pairs...)
}

// shopCurrency returns the code of the currency with which the forms of the shop begin: that of the payment settings, or
// the first one of the server if the server does not accept it.
func (v *page) shopCurrency() string {
	codes := v.Prices.Codes()
	if chosen := v.Shop.Choices[merchant.SettingCurrency]; slices.Contains(codes, chosen) {
		return chosen
	}
	return codes[0]
}

// redirectToList redirects to a list after an action.
func (v *page) redirectToList(path string, mode merchant.Mode, result string) error {
	return v.Done(v.BelowIn(path, mode == merchant.Test), result)
}

// share returns an address with its QR code. opens reports whether the page links to the address.
func (v *page) share(label, address string, opens bool) (desk.Share, error) {
	qr, err := views.NewQR(address)
	s := desk.Share{Label: label, URL: address, QR: qr, Title: v.Text("desk.share.qr"), Copy: v.CopyButton("address")}
	if opens {
		s.Open = v.Text("desk.share.open")
	}
	return s, err
}

// methodChoice returns the part of a form that chooses payment methods.
func (f *form) methodChoice(mode merchant.Mode, codes []string) desk.MethodChoice {
	m := desk.MethodChoice{Legend: f.Text("desk.methods.choice"), Hint: f.Text("desk.methods.choice.hint")}
	if wrong, ok := errors.AsType[*merchant.FieldError](f.problem); ok && wrong.Field == visit.MethodsField {
		m.Error = f.fault(visit.MethodsField, m.Legend)
	}
	m.Choices = f.MethodChoices(mode, codes, f.values, f.fault)
	m.Open = m.Error != "" || slices.ContainsFunc(m.Choices, func(c desk.Choice) bool { return f.values[c.Name] != "" || c.Error != "" })
	return m
}
