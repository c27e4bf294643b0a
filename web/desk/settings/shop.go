package settings

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"

	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// enteredName is the text of a name field, with the reason why the name was refused, or "".
type enteredName struct{ name, problem string }

// shop shows the name of the shop, and the form for a new shop.
func (v *page) shop() error {
	return v.showShop(http.StatusOK, enteredName{name: v.Shop.Name}, enteredName{}, "")
}

// showShop shows the forms for the name of the shop (current) and for a new shop (added). problem is the text above them.
func (v *page) showShop(status int, current, added enteredName, problem string) error {
	f, err := v.Frame(v.Text("desk.shop"), v.SettingsPath())
	if err != nil {
		return err
	}
	field := func(name, label, hint string, n enteredName) desk.Field {
		field := v.TextField(name, label, hint, n.name)
		field.Error = n.problem
		return field
	}
	address := v.Storefront(v.Shop)
	p := desk.ShopSettings{
		Frame: f, Tabs: v.SettingsTabs(visit.ShopPath), Problem: problem,
		Facts:  []desk.Fact{{Name: v.Text("desk.shop.address"), Value: address}, {Name: v.Text("desk.shop.id"), Value: v.Shop.ID}},
		Open:   views.Link{Text: v.Text("desk.share.open"), URL: address},
		Rename: v.Below(visit.ShopPath), Seen: v.Shop.Name, Name: field("name", "desk.shop.name", "desk.shop.name.hint", current),
		Create: v.Below("/shops"), New: field("new", "desk.shop.new.name", "desk.shop.new.hint", added),
	}
	if v.Shop.ID == v.NamedShop {
		p.Fixed = v.Text("desk.shop.fixed")
	}
	return v.Show(status, desk.ShopPage(p))
}

// renameShop changes the name of the shop, unless the name is set by CHEQUER_SHOP_NAME or was changed meanwhile.
func (v *page) renameShop() error {
	if v.Shop.ID == v.NamedShop {
		return v.showShop(http.StatusConflict, enteredName{name: v.Shop.Name}, enteredName{}, v.Text("desk.shop.fixed"))
	}
	ctx, name := v.Request().Context(), v.FormValue("name")
	err := v.Merchants.RenameShop(ctx, v.Shop.ID, cmp.Or(v.FormValue("seen"), v.Shop.Name), name)
	if errors.Is(err, merchant.ErrStale) {
		current, err := v.Merchants.FreshMerchant(ctx, v.Shop.ID)
		if err != nil {
			return err
		}
		v.Shop = current
		return v.showShop(http.StatusConflict, enteredName{name: name}, enteredName{}, v.Text("desk.shop.stale", "Name", current.Name))
	}
	if problem := v.nameProblem(err); problem != "" {
		return v.showShop(http.StatusUnprocessableEntity, enteredName{name, problem}, enteredName{}, "")
	}
	if err != nil {
		return err
	}
	return v.Done(v.Below(visit.ShopPath), "renamed")
}

// createShop creates a shop, whose owner is the account, and redirects to its overview.
func (v *page) createShop() error {
	name := v.FormValue("new")
	m, err := v.Merchants.CreateShop(v.Request().Context(), name, v.Account.ID)
	if errors.Is(err, merchant.ErrTooMany) {
		return v.showShop(http.StatusConflict, enteredName{name: v.Shop.Name}, enteredName{name: name}, v.Text("desk.shop.many"))
	}
	if problem := v.nameProblem(err); problem != "" {
		return v.showShop(http.StatusUnprocessableEntity, enteredName{name: v.Shop.Name}, enteredName{name, problem}, "")
	}
	if err != nil {
		return err
	}
	v.Log.Warn("shop created", "merchant", m.ID, "account", v.Account.ID)
	return v.Done(v.Address("/desk/"+url.PathEscape(m.ID)), "shop-created")
}

// nameProblem returns the reason why a name was refused; "" for nil and other errors.
func (v *page) nameProblem(err error) string {
	if errors.Is(err, merchant.ErrNameTaken) {
		return v.Text("desk.shop.taken")
	}
	if wrong, ok := errors.AsType[*merchant.FieldError](err); ok {
		return v.Text("desk.field.name", "Fault", wrong.Fault)
	}
	return ""
}
