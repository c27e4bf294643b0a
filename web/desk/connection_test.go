package desk_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/merchant"
	"chequer/internal/readiness"
)

// The texts of two connections with a secret.
const (
	firstNode  = "node-one hunter2hunter2"
	secondNode = "node-two hunter2hunter2"
)

// connectionID returns the ID of the shop's active connection; "" if there is none.
func (f *fixture) connectionID() string {
	f.t.Helper()
	all, err := f.storage.Wallets(f.t.Context(), shop, merchant.Live)
	f.must(err)
	for _, w := range all {
		if w.IsConnection() {
			return w.ID
		}
	}
	return ""
}

func TestConnections_are_added_tested_replaced_and_removed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	b.get("/desk/shop/wallets").want(http.StatusOK, "Lightning", "Add wallet")
	form := b.get("/desk/shop/wallets/lightning").want(http.StatusOK, "Connect a Lightning wallet or node", "the provider holds your money", "may only receive", "inbound liquidity", "final within seconds", "The provider sees")
	b.send("/desk/shop/wallets/lightning", append(form.hidden("#decide"), "connection", firstNode)...).wantRedirect("/desk/shop/wallets?done=connection")
	first := f.connectionID()
	b.get("/desk/shop/wallets?done=connection").want(http.StatusOK, "It makes and finds payment requests, and cannot spend.", "node-one", "Received here nothing")

	at := "/desk/shop/wallets/" + first
	b.send(at+"/test").want(http.StatusOK, "Test: ready, makes and finds requests, cannot spend")
	f.access.Spending = "pay_invoice"
	b.send(at+"/test").want(http.StatusOK, "Test: may spend from your wallet (pay_invoice): replace it by a receive-only connection")
	f.access, f.examineError = lightning.Access{}, lightning.ErrSilent
	b.send(at+"/test").want(http.StatusOK, "Test: the relay answers, the wallet does not: is it switched on?")
	f.examineError = nil

	form = b.get("/desk/shop/wallets/lightning").want(http.StatusOK, "Use another Lightning wallet or node for new invoices?", "It replaces node-one, whose payment requests are looked up until they end.")
	b.send("/desk/shop/wallets/lightning", append(form.hidden("#decide"), "connection", firstNode)...).want(http.StatusUnprocessableEntity, "This is the connection already.")
	b.send("/desk/shop/wallets/lightning", "connection", secondNode).want(http.StatusConflict, "The wallet was changed in the meantime.")
	b.send("/desk/shop/wallets/lightning", append(form.hidden("#decide"), "connection", secondNode)...).wantRedirect("/desk/shop/wallets?done=connection")
	b.get("/desk/shop/wallets").want(http.StatusOK, "node-two", "Former wallets", "node-one")
	b.send(at + "/test").want(http.StatusNotFound)

	at = "/desk/shop/wallets/" + f.connectionID() + "/remove"
	b.get(at).want(http.StatusOK, "Remove this wallet? Lightning", "New invoices cannot be paid by BTC-LN", "Payment requests of existing invoices are looked up until they end.")
	b.send(at).wantRedirect("/desk/shop/wallets?done=wallet-removed")
	if f.connectionID() != "" {
		t.Error("the connection was not removed")
	}
}

func TestConnections_that_fail_are_refused_in_words(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	for name, test := range map[string]struct {
		text     string
		spending string
		err      error
		want     string
	}{
		"no text":            {" ", "", nil, "Paste the connection that your wallet or node shows."},
		"a dead provider":    {firstNode, "", errors.New("node-one: connection refused"), "Refused: node-one: connection refused."},
		"one that may spend": {firstNode, "pay_invoice", nil, "Refused: the connection may spend from your wallet (pay_invoice): make one in your wallet that may only receive."},
	} {
		f.access.Spending, f.examineError = test.spending, test.err
		got := b.send("/desk/shop/wallets/lightning", "connection", test.text).want(http.StatusUnprocessableEntity, test.want)
		if text := got.find("#connection-error").Text(); !strings.Contains(text, test.want) {
			t.Errorf("%s: the error of the field is %q, want %q", name, text, test.want)
		}
	}
	f.access, f.examineError = lightning.Access{}, nil
	if f.connectionID() != "" {
		t.Error("a connection was added")
	}
	b.get("/desk/shop/wallets/add?asset=BTC-LN").want(http.StatusNotFound)
	b.send("/desk/shop/wallets/add", "asset", "BTC-LN", "key", zpub84, "address", zpub84at0).want(http.StatusNotFound)
}

func TestConnections_need_an_owner_and_are_never_shown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.examineError = errors.New("connection refused")
	pages := []page{b.send("/desk/shop/wallets/lightning", "connection", firstNode).want(http.StatusUnprocessableEntity, "connection refused")}
	f.examineError = nil
	b.send("/desk/shop/wallets/lightning", "connection", firstNode).wantRedirect("/desk/shop/wallets?done=connection")
	pages = append(pages, b.get("/desk/shop/wallets"), b.get("/desk/shop/wallets/lightning"), b.send("/desk/shop/wallets/"+f.connectionID()+"/test"), b.get("/desk/shop/log"))
	manager := f.as("Tove", "manager")
	seen := manager.get("/desk/shop/wallets").want(http.StatusOK, "node-one")
	if n := seen.find(`main form, main a[href*="/wallets/"]`).Length(); n != 0 {
		t.Errorf("the page of a manager has %d forms and links to change the connection", n)
	}
	manager.get("/desk/shop/wallets/lightning").want(http.StatusForbidden, "Wallets are managed by")
	f.clock.Advance(11 * time.Minute)
	b.get("/desk/shop/wallets/lightning").want(http.StatusForbidden, "Confirm it’s you")
	pages = append(pages, seen, b.send("/desk/shop/wallets/lightning", "connection", secondNode).want(http.StatusForbidden, "Confirm it’s you"))
	for _, p := range pages {
		if strings.Contains(p.body, "hunter2") {
			t.Errorf("a page has the secret: %s", p.body)
		}
	}
	if strings.Contains(f.log.String(), "hunter2") {
		t.Error("the log has the secret")
	}
}

func TestConnections_of_a_demo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.demo = true
	b := f.owner()
	if page := b.get("/desk/shop/wallets").want(http.StatusOK, "This is the demo"); page.find(`main a[href*="/wallets/lightning"]`).Length() != 0 {
		t.Error("the page leads to a form that cannot succeed")
	}
	b.get("/desk/shop/wallets/lightning").wantRedirect("/desk/shop/wallets")
	b.send("/desk/shop/wallets/lightning", "connection", firstNode).want(http.StatusConflict, "This is the demo")
	if f.connectionID() != "" {
		t.Error("a demo has a connection")
	}
}

// The health page does not show the one block of Lightning as the tip of a chain.
func TestHealth_shows_lookups_of_connections(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ago := int64(0)
	f.networks = []readiness.Network{{Network: chain.LightningID("wlt_1"), Watched: true, Reached: true, Tip: 1, ScannedAgo: &ago, Source: "node-one"}}
	got := f.owner().get("/desk/shop/health").want(http.StatusOK, "Payment requests looked up now")
	if strings.Contains(got.body, "Scanned to block") {
		t.Error("the page shows a block")
	}
}
