package settings

import (
	"cmp"
	"errors"
	"net/http"

	"chequer/internal/merchant"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// setup shows the second step of the first run: the name and the currency of the shop, and the time zone of its
// books.
func (v *page) setup() error {
	return v.showSetup(http.StatusOK, enteredName{name: v.Shop.Name}, nil, nil)
}

// showSetup shows the form with the entered name and the entered settings. If no zone was entered or chosen before, the
// script chooses the zone of the browser.
func (v *page) showSetup(status int, name enteredName, entered merchant.Choices, problem error) error {
	f, err := v.Frame(v.Text("desk.setup"), visit.HomePath)
	if err != nil {
		return err
	}
	p := desk.Setup{
		Frame: f, Action: v.Below(visit.SetupPath), Seen: v.Shop.Name, Skip: v.Below(visit.HomePath) + "?done=joined",
		Currency: currencyChoice(v.Visit, cmp.Or(entered[merchant.SettingCurrency], v.Shop.Choices[merchant.SettingCurrency], v.PaymentSettings.Prices.Codes()[0])),
		Zone:     zoneChoice(v.Visit, cmp.Or(entered[merchant.SettingTimeZone], v.Shop.Choices.Zone().String())),
	}
	p.Zone.Browser = entered == nil && v.Shop.Choices[merchant.SettingTimeZone] == ""
	if v.Shop.ID != v.NamedShop {
		p.Name = v.TextField("name", "desk.shop.name", "desk.setup.name.hint", name.name)
		p.Name.Error = name.problem
	}
	if wrong, ok := errors.AsType[*merchant.FieldError](problem); ok {
		faulty := &p.Zone
		if wrong.Field == p.Currency.Name {
			faulty = &p.Currency
		}
		faulty.Error = v.Text("desk.field.fault", "Name", faulty.Label, "Fault", wrong.Fault)
	}
	return v.Show(status, desk.SetupPage(p))
}

// saveSetup changes the name and the currency of the shop and the time zone of its books, and redirects to the overview.
func (v *page) saveSetup() error {
	ctx, name, chosen := v.Request().Context(), v.FormValue("name"), merchant.Choices{}
	for _, setting := range []merchant.SettingName{merchant.SettingCurrency, merchant.SettingTimeZone} {
		chosen[setting] = v.FormValue(string(setting))
	}
	if err := v.PaymentSettings.Check(v.Shop.Choices, chosen); err != nil {
		return v.showSetup(http.StatusUnprocessableEntity, enteredName{name: name}, chosen, err)
	}
	if v.Shop.ID != v.NamedShop && name != v.Shop.Name {
		err := v.Merchants.RenameShop(ctx, v.Shop.ID, cmp.Or(v.FormValue("seen"), v.Shop.Name), name)
		if problem := v.nameProblem(err); problem != "" {
			return v.showSetup(http.StatusUnprocessableEntity, enteredName{name, problem}, chosen, nil)
		}
		if errors.Is(err, merchant.ErrStale) {
			current, err := v.Merchants.FreshMerchant(ctx, v.Shop.ID)
			if err != nil {
				return err
			}
			v.Shop = current
			return v.showSetup(http.StatusConflict, enteredName{name, v.Text("desk.shop.stale", "Name", current.Name)}, chosen, nil)
		}
		if err != nil {
			return err
		}
	}
	if _, err := v.PaymentSettings.Change(ctx, v.Shop.ID, "", chosen); err != nil {
		return err
	}
	return v.Done(v.Below(visit.HomePath), "joined")
}
