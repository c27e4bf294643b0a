package settings

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"chequer/internal/account"
	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/web/desk/visit"
)

// paymentsPlace is the path of the page of the payment settings.
const paymentsPlace = "/payment-settings"

// paymentForm is the form for the payment settings of a shop.
type paymentForm struct {
	*page
	chosen  merchant.Choices
	inForce map[merchant.SettingName]merchant.Setting
	codes   []string          // codes of the payment methods with a field
	values  map[string]string // stored or entered values, by the name of the field
	stored  map[string]string // the present values if another account has changed the settings since the form was loaded, otherwise nil
	version string            // revision of the settings that the form was loaded with
	problem error             // reason why the values were refused
}

// newPaymentForm returns the form with the stored values.
func (v *page) newPaymentForm() (*paymentForm, error) {
	chosen, err := v.PaymentSettings.Chosen(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return nil, err
	}
	f := &paymentForm{
		page: v, chosen: chosen, version: chosen.Revision(), inForce: map[merchant.SettingName]merchant.Setting{}, values: map[string]string{},
	}
	for _, s := range v.PaymentSettings.Overrides.List(chosen) {
		f.inForce[s.Name], f.values[string(s.Name)] = s, s.Value
	}
	if f.values[languagesField] == "" {
		f.values[languagesField] = allLanguages()
	}
	methods := merchant.Methods(f.values[string(merchant.SettingMethods)])
	f.codes = v.MethodCodes(merchant.Live, methods)
	visit.SetPositions(f.values, methods)
	return f, nil
}

// paymentSettings shows the payment settings.
func (v *page) paymentSettings() error {
	f, err := v.newPaymentForm()
	if err != nil {
		return err
	}
	return f.show(http.StatusOK)
}

// setPaymentSettings changes the payment settings. A change that relaxes a rule needs a confirmed sign-in.
func (v *page) setPaymentSettings() error {
	f, err := v.newPaymentForm()
	if err != nil {
		return err
	}
	seen := v.FormValue("version")
	if seen != f.version {
		return f.showStale()
	}
	changes, err := f.enter()
	if err != nil {
		return f.showRefused(err)
	}
	relaxes, err := v.PaymentSettings.Relaxes(v.Shop.ID, f.chosen, changes)
	if err != nil {
		return f.showRefused(err)
	}
	if relaxes {
		if err := v.Require(account.DecideHighRisk); err != nil {
			return err
		}
	}
	_, err = v.PaymentSettings.Change(v.Request().Context(), v.Shop.ID, seen, changes)
	if errors.Is(err, merchant.ErrStale) {
		if f, err = v.newPaymentForm(); err == nil {
			return f.showStale()
		}
	}
	if err != nil {
		return f.showRefused(err)
	}
	return v.Done(v.Below(paymentsPlace), "payment-settings")
}

// changeableSettings returns the settings that the form can change.
func (f *paymentForm) changeableSettings() (names []merchant.SettingName) {
	for _, name := range merchant.SettingNames() {
		if f.inForce[name].By == "" {
			names = append(names, name)
		}
	}
	return names
}

// enter replaces the values of the form by the entered values, and returns the changes. The error is a
// *merchant.FieldError.
func (f *paymentForm) enter() (merchant.Choices, error) {
	for _, name := range visit.PositionNames(f.codes) {
		f.values[name] = f.FormValue(name)
	}
	changes := merchant.Choices{}
	for _, name := range f.changeableSettings() {
		changes[name] = visit.DecimalPoint(strings.TrimSpace(f.FormValue(string(name))))
		if name == merchant.SettingLanguages {
			changes[name] = f.enteredLanguages()
		}
		if name == merchant.SettingExplorers {
			changes[name] = strings.Join(strings.Fields(changes[name]), " ")
		}
		f.values[string(name)] = changes[name]
	}
	chosen, err := visit.ChosenMethods(f.values, f.codes)
	if err != nil {
		return nil, err
	}
	if err := f.PaymentSettings.CheckMethods(f.Request().Context(), f.Shop.ID, chosen, f.Invoices.WalletOf); err != nil {
		return nil, err
	}
	changes[merchant.SettingMethods] = strings.Join(chosen, " ")
	switch entered, shown := changes[merchant.SettingLanguages]; {
	case !shown:
	case entered == "":
		return nil, &merchant.FieldError{Field: languagesField, Fault: "must contain a language"}
	case entered == allLanguages():
		changes[merchant.SettingLanguages] = "" // all languages, including those of later releases
	}
	return changes, nil
}

// languagesField is the name of the boxes of the languages.
const languagesField = string(merchant.SettingLanguages)

// allLanguages returns the codes of all languages.
func allLanguages() string {
	var codes []string
	for _, l := range locale.All().List() {
		codes = append(codes, l.Code)
	}
	return strings.Join(codes, " ")
}

// enteredLanguages returns the codes of the chosen languages.
func (f *paymentForm) enteredLanguages() string {
	form, err := f.FormParams()
	if err != nil {
		return ""
	}
	var codes []string
	for _, l := range locale.All().List() {
		if slices.Contains(form[languagesField], l.Code) {
			codes = append(codes, l.Code)
		}
	}
	return strings.Join(codes, " ")
}

// showStale shows the entered values, and the stored value of each field in which they differ.
func (f *paymentForm) showStale() error {
	f.stored = map[string]string{}
	for name, value := range f.values {
		f.stored[name] = value
	}
	if _, err := f.enter(); err != nil {
		return f.showRefused(err)
	}
	f.problem = merchant.ErrStale
	return f.show(http.StatusConflict)
}

// showRefused shows the entered values with the error of the field that breaks a rule. It returns any error other than a
// *merchant.FieldError.
func (f *paymentForm) showRefused(err error) error {
	if _, ok := errors.AsType[*merchant.FieldError](err); !ok {
		return err
	}
	f.problem, f.stored, f.version = err, nil, f.FormValue("version")
	return f.show(http.StatusUnprocessableEntity)
}
