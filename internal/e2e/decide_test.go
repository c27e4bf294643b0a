package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"chequer/internal/api"
)

// TestCommandsDecideBesideARunningServer lists, shows, cancels and accepts from
// the command line while the server is up.
func TestCommandsDecideBesideARunningServer(t *testing.T) {
	t.Parallel()
	listen := freePort(t)
	p := &process{t: t, url: "http://" + listen, environ: []string{"CHEQUER_LISTEN=" + listen, "CHEQUER_DATA_DIR=" + t.TempDir()}}
	p.demo()
	merchant := newShop(t, p.url, p.key)
	cancelled, late := merchant.order(), merchant.order()

	news := merchant.news(cancelled)
	p.run("invoice", "cancel", cancelled)
	if got := <-news; got != api.StatusDeclined {
		t.Errorf("who waited saw %s", got)
	}
	merchant.simulate(late, api.SimulateLate)
	merchant.status(late, api.StatusExpired, patience)
	if out := string(p.run("invoice", "show", late)); !strings.Contains(out, "expired late") || !strings.Contains(out, "0.00014465 BTC, late 0 of 1") {
		t.Errorf("show says %s", out)
	}
	p.run("invoice", "accept", late)
	merchant.simulate(late, api.SimulateConfirm)
	merchant.status(late, api.StatusPaid, patience)

	var list []api.Resource
	if err := json.Unmarshal(p.run("invoice", "list", "--test", "--json"), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].Status != api.StatusPaid && list[1].Status != api.StatusPaid {
		t.Errorf("list has %+v", list)
	}
	address := strings.ToUpper(list[0].PaymentMethods[0].Address)
	if err := json.Unmarshal(p.run("invoice", "list", "--test", "--json", "--address", address), &list); err != nil || len(list) != 1 {
		t.Errorf("by address: %d, %v", len(list), err)
	}
}
