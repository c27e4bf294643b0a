package present

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"

	"chequer/internal/api"
	"chequer/views"
)

// amountPattern matches a typed amount with at most two decimals, after a point or a comma.
var amountPattern = regexp.MustCompile(`^[0-9]{1,7}([.,][0-9]{1,2})?$`)

// amountLabels maps currencies to the key of the text of the field's label. The key for other currencies is
// form.amount.other.
var amountLabels = map[string]string{"EUR": "form.amount.euro", "USD": "form.amount.dollar"}

// Typed holds the values of a form for an amount.
type Typed struct {
	Amount    string
	Token     string // the same in every submission of one form
	Reference string // the reference or the order number
	Note      string
	Currency  string // that the form showed; empty if the values are not of a form of this program
}

// ChangedCurrency returns the problem with a form for an amount whose currency was changed since it was shown.
func ChangedCurrency(r Reader) *Problem {
	return &Problem{Status: http.StatusConflict, Text: r.Text("refused.changed")}
}

// Problem is the reason why a form created no invoice.
type Problem struct {
	Text   string // empty if the error of a field gives the reason
	Status int    // of the answer; 0 if a typed value is invalid
}

// ReadAmount returns the typed amount with a decimal point, or the problem with the typed values. It refuses
// a thousands separator, because the amount would be wrong if the separator were read as a decimal point.
func ReadAmount(r Reader, typed Typed) (amount string, problem *Problem) {
	amount = strings.Replace(typed.Amount, ",", ".", 1)
	switch {
	case typed.Amount == "":
		return "", &Problem{Text: r.Text("amount.none", "Amount", r.Decimal("12.50"))}
	case !amountPattern.MatchString(typed.Amount):
		return "", &Problem{Text: r.Text("amount.figures", "Amount", "12.50", "Other", "12,50")}
	case isZero(amount):
		return "", &Problem{Text: r.Text("amount.zero")}
	case isLonger(typed.Reference, api.MaxShopperOrderID), isLonger(typed.Note, api.MaxShopperNote):
		return "", &Problem{}
	}
	integer, fraction, _ := strings.Cut(amount, ".")
	amount = cmp.Or(strings.TrimLeft(integer, "0"), "0")
	if fraction != "" {
		amount += "." + fraction
	}
	return amount, nil
}

// form returns a form for an amount in a currency, which posts to the path action below the base path.
func (f Frame) form(action, currency string, typed Typed, problem *Problem) views.Form {
	label := f.Text("form.amount.other", "Currency", currency)
	if id, known := amountLabels[currency]; known {
		label = f.Text(id)
	}
	form := views.Form{Action: f.WithLanguage(f.Path(action)), Token: typed.Token, Amount: typed.Amount, Label: label, Sign: f.FiatSign(currency), Currency: currency}
	switch {
	case problem == nil:
	case problem.Status == 0: // the typed amount is invalid
		form.Error = problem.Text
	default:
		form.Fault = problem.Text
	}
	return form
}

// errorTitle returns the title of a page. If there is a problem, the title begins with the word for an error.
func (f Frame) errorTitle(title string, problem *Problem) string {
	if problem == nil {
		return title
	}
	return f.Text("error.title", "Title", title)
}

// StorefrontForm returns the form for an open amount. hasProducts reports whether the shop has products,
// and hasTexts whether the form has fields for a reference and a note.
func (f Frame) StorefrontForm(typed Typed, problem *Problem, hasProducts, hasTexts bool) views.Storefront {
	page := views.Storefront{Page: f.Page("", "", "store.css"), Form: f.form("/order"+f.Root, f.Currency, typed, problem), Demo: f.Demo}
	page.Title = f.errorTitle(f.Text("pay.title", "Shop", page.Shop), problem)
	f.addLanguageLink(&page.Page)
	if hasProducts {
		page.Products = views.Link{Text: f.Text("product.see"), URL: f.WithLanguage(f.ShopPath("/shop"))}
	}
	if hasTexts {
		page.Asked = []views.TextField{
			f.referenceField(api.MetadataOrderReference, "product.reference.optional", typed), f.noteField(api.MetadataNote, "product.note.optional", typed),
		}
	}
	return page
}

func (f Frame) referenceField(name, label string, typed Typed) views.TextField {
	return views.TextField{
		Name: name, Label: f.Text(label), Value: typed.Reference, Error: f.tooLong(typed.Reference, "product.reference.long", api.MaxShopperOrderID),
	}
}

func (f Frame) noteField(name, label string, typed Typed) views.TextField {
	return views.TextField{
		Name: name, Label: f.Text(label), Value: typed.Note, Lines: true, Error: f.tooLong(typed.Note, "product.note.long", api.MaxShopperNote),
	}
}
