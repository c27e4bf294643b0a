package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/config"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/notify"
	"chequer/internal/readiness"
	"chequer/internal/storage/storagetest"
	"chequer/internal/webhook"
)

// noRates has no rate.
type noRates struct{ invoice.Rates }

// Rate implements invoice.Rates.
func (noRates) Rate(string, money.Currency, money.Currency) (money.Rate, error) {
	return money.Rate{}, errors.New("no rate")
}

func TestFaults_name_networks_rates_endpoints_and_backups(t *testing.T) {
	t.Parallel()
	c, err := config.Load([]string{"CHEQUER_DATA_DIR=" + t.TempDir(), "CHEQUER_CALLBACK_ALLOW=127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Demo: true, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return storagetest.Noon }}
	core, err := OpenCore(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	d, err := newDomain(t.Context(), c, o, core)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.faults(t.Context(), c); err != nil || len(got) != 0 {
		t.Errorf("a new shop has the faults %v, error %v", got, err)
	}
	id, name := d.networks[0].ID(), d.networks[0].Assets()[0].NetworkName
	networks := []readiness.Network{{Network: id, Watched: true}, {Network: "ethereum", Watched: true}, {Network: "other"}}
	if got, err := d.networksWithWallet(t.Context(), networks); err != nil || len(got) != 0 {
		t.Errorf("without a wallet the networks %v are used, error %v", got, err)
	}
	err = d.Storage.CreateWallet(t.Context(), merchant.Wallet{ID: "w", MerchantID: d.shop.ID, Mode: merchant.Live, Asset: "BTC", Key: "k", Counter: "k", CreatedAt: storagetest.Noon})
	if err != nil {
		t.Fatal(err)
	}
	used, err := d.networksWithWallet(t.Context(), networks)
	if err != nil {
		t.Fatal(err)
	}
	got := d.networkFaults(append(used, readiness.Network{Network: "third", Reached: true}))
	d.rates = func() invoice.Rates { return noRates{} }
	got = append(got, d.rateFaults(used)...)
	got = append(got, d.failingEndpoint(t.Context(), t)...)
	record := []byte(`{"finished_at":"` + storagetest.Noon.AddDate(0, 0, -9).Format(time.RFC3339) + `","file":"x"}`)
	if err := os.WriteFile(filepath.Join(c.DataDir, "last-backup.json"), record, 0o600); err != nil {
		t.Fatal(err)
	}
	got = append(got, d.backupFaults(c)...)
	want := []notify.Fault{
		{Key: "network " + string(id), Text: name + " is out of reach: its payments are seen late, and new invoices do not offer it"},
		{Key: "rate BTC", Text: "Bitcoin has no usable exchange rate: new invoices do not offer it"},
		{MerchantID: d.shop.ID, Key: "endpoint", Text: "The webhook to 127.0.0.1:9 fails: 0 events wait, 1 are given up"},
		{Key: "backup", Text: "The last backup is 9 days old"},
	}
	for i := range got {
		if got[i].MerchantID != "" {
			got[i].Key = got[i].Key[:len("endpoint")] // without its identifier
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// failingEndpoint creates an endpoint that has not accepted an event, and returns the faults of the shop's
// endpoints.
func (d *domain) failingEndpoint(ctx context.Context, t *testing.T) []notify.Fault {
	t.Helper()
	e, err := d.Endpoints.Create(ctx, d.shop.ID, merchant.Live, "https://127.0.0.1:9/hook?token=hush", nil)
	if err != nil {
		t.Fatal(err)
	}
	now := d.Now()
	err = d.Storage.ChangeTeam(ctx, "", func(account.Ticket, []account.Account) ([]account.Account, account.Outcome, error) {
		return nil, account.Outcome{Event: account.Event{ID: "evt_1", At: now, Body: []byte("{}"), MerchantIDs: []string{d.shop.ID}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	claims, err := d.Storage.ClaimDeliveries(ctx, e.ID, now, now, now.Add(time.Minute), 1)
	if err != nil || len(claims) != 1 {
		t.Fatalf("got %d claims, error %v", len(claims), err)
	}
	if err := d.Storage.SaveAttempt(ctx, claims[0], merchant.Attempt{At: now, Status: 500}, webhook.Outcome{State: merchant.DeliveryFailed}); err != nil {
		t.Fatal(err)
	}
	faults, err := d.endpointFaults(ctx, d.shop)
	if err != nil {
		t.Fatal(err)
	}
	return faults
}
