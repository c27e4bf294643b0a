package settings

import (
	"cmp"
	"errors"
	"net/http"

	"chequer/internal/merchant"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// setup shows the second step of the first run: the name of the shop and the time zone of its books.
func (v *page) setup() error {
	return v.showSetup(http.StatusOK, enteredName{name: v.Shop.Name}, "", nil)
}

// showSetup shows the form with the entered name and the entered zone. If no zone was entered or chosen before, the script
// chooses the zone of the browser.
func (v *page) showSetup(status int, name enteredName, entered string, problem error) error {
	f, err := v.Frame(v.Text("desk.setup"), visit.HomePath)
	if err != nil {
		return err
	}
	p := desk.Setup{
		Frame: f, Action: v.Below(visit.SetupPath), Seen: v.Shop.Name, Skip: v.Below("/account?done=joined"),
		Zone: zoneChoice(v.Visit, cmp.Or(entered, v.Shop.Choices.Zone().String())),
	}
	p.Zone.Browser = entered == "" && v.Shop.Choices[merchant.SettingTimeZone] == ""
	if v.Shop.ID != v.NamedShop {
		p.Name = v.TextField("name", "desk.shop.name", "desk.setup.name.hint", name.name)
		p.Name.Error = name.problem
	}
	if wrong, ok := errors.AsType[*merchant.FieldError](problem); ok {
		p.Zone.Error = v.Text("desk.field.fault", "Name", p.Zone.Label, "Fault", wrong.Fault)
	}
	return v.Show(status, desk.SetupPage(p))
}

// saveSetup changes the name of the shop and the time zone of its books, and redirects to the account.
func (v *page) saveSetup() error {
	ctx, name, chosen := v.Request().Context(), v.FormValue("name"), v.FormValue(string(merchant.SettingTimeZone))
	if _, err := (merchant.Choices{}).With(merchant.Choices{merchant.SettingTimeZone: chosen}); err != nil {
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
	if _, err := v.PaymentSettings.Change(ctx, v.Shop.ID, "", merchant.Choices{merchant.SettingTimeZone: chosen}); err != nil {
		return err
	}
	return v.Done(v.Below("/account"), "joined")
}
