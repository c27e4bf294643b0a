package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"chequer/internal/api"
)

// TestCommands_decide_beside_a_running_server lists, shows, cancels and accepts invoices by commands
// while the server is running.
func TestCommands_decide_beside_a_running_server(t *testing.T) {
	t.Parallel()
	listen := freeAddress(t)
	p := &process{t: t, url: "http://" + listen, environ: []string{"CHEQUER_LISTEN=" + listen, "CHEQUER_DATA_DIR=" + t.TempDir()}}
	p.demo()
	merchant := newShop(t, p.url, p.key)
	cancelled, late := merchant.createInvoice(), merchant.createInvoice()

	status := merchant.nextStatus(cancelled)
	p.run("invoice", "cancel", cancelled)
	if got := <-status; got != api.StatusDeclined {
		t.Errorf("the waiting caller got %s", got)
	}
	merchant.simulate(late, api.SimulateLate)
	merchant.waitStatus(late, api.StatusExpired, waitTimeout)
	if out := string(p.run("invoice", "show", late)); !strings.Contains(out, "expired late") || !strings.Contains(out, "0.00014465 BTC, late 0 of 1") {
		t.Errorf("invoice show prints %s", out)
	}
	p.run("invoice", "accept", late)
	merchant.simulate(late, api.SimulateConfirm)
	merchant.waitStatus(late, api.StatusPaid, waitTimeout)

	var list []api.Resource
	if err := json.Unmarshal(p.run("invoice", "list", "--test", "--json"), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].Status != api.StatusPaid && list[1].Status != api.StatusPaid {
		t.Errorf("list has %+v, want two invoices, one of them paid", list)
	}
	address := strings.ToUpper(list[0].PaymentMethods[0].Address)
	if err := json.Unmarshal(p.run("invoice", "list", "--test", "--json", "--address", address), &list); err != nil || len(list) != 1 {
		t.Errorf("invoice list --address returns %d invoices, error %v", len(list), err)
	}
}
