package account_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/storage/storagetest"
)

// Each change of an account is an event for the endpoints of its shops, without names and secrets.
func TestChanges_are_events(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	storagetest.AddMerchants(t, d.storage)
	ctx := t.Context()
	in, _ := d.owner()
	manager := d.invite("Tove", account.Manager)
	if err := d.ChangeRoles(ctx, manager.Account.ID, func(r map[string]account.Role) error {
		clear(r)
		r["bakery"] = account.Seller
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	d.addPasskey(manager.Account)
	if err := d.RemovePassword(ctx, manager.Account.ID); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(ctx, manager.Account.ID); err != nil {
		t.Fatal(err)
	}
	link, err := d.Recover(ctx, "Maren")
	if err != nil {
		t.Fatal(err)
	}
	d.join(link.Token, "Maren")
	changes := func(merchantID string) (all []string) {
		t.Helper()
		events, err := d.storage.Events(ctx, merchantID, invoice.Live, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if string(e.Type) != account.EventChanged || strings.Contains(string(e.Body), "Tove") || strings.Contains(string(e.Body), d.seeds["Tove"]) {
				t.Errorf("event %s: %s", e.Type, e.Body)
			}
			var body api.Event
			if err := json.Unmarshal(e.Body, &body); err != nil {
				t.Fatal(err)
			}
			all = append(all, strings.ReplaceAll(strings.ReplaceAll(body.Account.ID, in.Account.ID, "Maren"), manager.Account.ID, "Tove")+" "+body.Account.Change)
		}
		return all
	}
	for merchantID, want := range map[string][]string{
		"shop":   {"Maren created", "Tove created", "Tove roles_changed", "Maren recovered"},
		"bakery": {"Tove roles_changed", "Tove passkey_added", "Tove password_removed", "Tove removed"},
	} {
		if diff := cmp.Diff(want, changes(merchantID)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", merchantID, diff)
		}
	}
}
