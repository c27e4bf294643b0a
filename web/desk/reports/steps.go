package reports

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/invoicing"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// addSteps replaces the totals of the live mode by the first steps if the shop has no paid live invoice and the
// account may sell.
func (v *page) addSteps(page *desk.Overview, mode invoice.Mode) error {
	live, err := v.Tally(invoice.Live)
	if err != nil || mode == invoice.Test || live.Statuses[invoice.Paid] > 0 || !v.May(account.Sell) {
		return err
	}
	if page.Steps, err = v.steps(v.Request().Context()); err != nil {
		return err
	}
	done := 0
	for _, s := range page.Steps {
		if s.Done {
			done++
		}
	}
	page.Done = v.Text("desk.steps.done", "Done", strconv.Itoa(done), "All", strconv.Itoa(len(page.Steps)))
	page.Periods, page.Totals, page.Empty = nil, nil, ""
	return nil
}

// steps returns the first steps of a shop without a live payment. Those of a demo need no live payments.
func (v *page) steps(ctx context.Context) ([]desk.FirstStep, error) {
	test, err := v.Tally(invoice.Test)
	if err != nil {
		return nil, err
	}
	wallets, err := v.Merchants.Wallets(ctx, v.Shop.ID, merchant.Live)
	if err != nil {
		return nil, err
	}
	sells, err := v.hasSource(ctx)
	if err != nil {
		return nil, err
	}
	theme, err := v.Themes.Theme(ctx, v.Shop.ID)
	if err != nil {
		return nil, err
	}
	hint := v.methodHint(ctx, wallets)
	testStep := v.step("desk.steps.test", "desk.steps.test.hint", test.Statuses[invoice.Paid] > 0)
	testStep.Link = views.Link{Text: v.Text("desk.steps.test.start"), URL: v.BelowIn(visit.SellPath, true)}
	if test.Total() > 0 {
		testStep.Link = views.Link{Text: v.Text("desk.mode.enter"), URL: v.BelowIn("/payments", true)}
	}
	themeStep := v.withLink(v.step("desk.steps.theme", "desk.steps.theme.hint", len(theme.Logo.Body) > 0 && theme.Support != ""), account.Configure, "/theme")
	signInStep := v.withLink(v.step("desk.steps.signin", "desk.steps.signin.hint", v.Account.SignIn.Methods() > 1), account.ManageSignIn, "/account")
	isDemo, err := v.IsDemo(ctx)
	if err != nil {
		return nil, err
	}
	if isDemo {
		return []desk.FirstStep{testStep, themeStep, signInStep, v.step("desk.steps.own", "desk.steps.own.hint", false)}, nil
	}
	return []desk.FirstStep{
		v.withLink(v.step("desk.steps.wallet", "desk.steps.wallet.hint", len(wallets) > 0), account.ViewWallets, "/wallets"),
		{Name: v.Text("desk.steps.method"), Hint: hint, Done: hint == ""},
		v.withLink(v.step("desk.steps.sell", "desk.steps.sell.hint", sells), account.Sell, "/products"),
		testStep,
		themeStep,
		signInStep,
		v.step("desk.steps.live", "desk.steps.live.hint", false),
	}, nil
}

// hasSource reports whether the shop has a source of live invoices: a product, a checkout link, a terminal or an
// API key that is not revoked.
func (v *page) hasSource(ctx context.Context) (bool, error) {
	products, err := v.Products.Products(ctx, v.Shop.ID)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(products, func(p merchant.Product) bool { return p.Mode == merchant.Live }) {
		return true, nil
	}
	links, err := v.Links.Links(ctx, v.Shop.ID, merchant.Live, merchant.LinkPosition{}, 1)
	if err != nil || len(links) > 0 {
		return err == nil, err
	}
	terminals, err := v.Terminals.List(ctx, v.Shop.ID)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(terminals, func(t merchant.Terminal) bool { return t.Mode == merchant.Live }) {
		return true, nil
	}
	keys, err := v.Merchants.Keys(ctx, v.Shop.ID)
	return slices.ContainsFunc(keys, func(k merchant.Key) bool { return k.Mode == merchant.Live && k.RevokedAt.IsZero() }), err
}

// step returns a first step. Only an open step has a hint.
func (v *page) step(name, hint string, done bool) desk.FirstStep {
	s := desk.FirstStep{Name: v.Text(name), Done: done}
	if !done {
		s.Hint = v.Text(hint)
	}
	return s
}

// withLink adds to an open step the link to the page of the desk on which it is done, if the account may use that page.
func (v *page) withLink(s desk.FirstStep, needs account.Permission, path string) desk.FirstStep {
	if !s.Done && v.May(needs) {
		s.Link = views.Link{Text: v.Text("desk.steps.add"), URL: v.Below(path)}
	}
	return s
}

// samplePrice is the price for which methodHint checks whether an invoice can be created.
var samplePrice = money.MustParse("100", money.EUR)

// methodHint returns the reason why no payment method can be offered now; "" if at least one can be offered.
func (v *page) methodHint(ctx context.Context, wallets []merchant.Wallet) string {
	err := v.Invoices.Creatable(ctx, invoice.CreateRequest{
		MerchantID: v.Shop.ID, Mode: invoice.Live, ExpiresIn: 15 * time.Minute, Terms: invoice.Terms{Price: samplePrice}, Wallets: invoicing.Wallets(wallets),
	})
	switch {
	case err == nil:
		return ""
	case errors.Is(err, invoice.ErrNoWallet):
		return v.Text("desk.steps.method.hint")
	case errors.Is(err, invoice.ErrUnreached):
		return v.Text("desk.steps.method.network")
	case errors.Is(err, invoice.ErrNoRate):
		return v.Text("desk.steps.method.rate")
	}
	return v.Text("desk.steps.method.other")
}
