package present_test

import (
	"slices"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/web/present/presenttest"
)

func TestSimulate_offers_only_simulations_that_are_possible(t *testing.T) {
	t.Parallel()
	at := func(state string, confirmations int) []api.Payment {
		p := presenttest.Payment(state)
		p.Confirmations = confirmations
		return []api.Payment{p}
	}
	lightning := at("confirmed", 1)
	lightning[0].CryptoCurrency, lightning[0].Required = "BTC-LN", 1
	arrives := []string{"Exact amount", "Too little", "Too much", "Too late"}
	clock := []string{"One hour passes", "One day passes"}
	for _, tt := range []struct {
		name     string
		payments []api.Payment
		then     []string
	}{
		{"no payment", nil, nil},
		{"unconfirmed", at("seen", 0), []string{"Confirm", "Double spend"}},
		{"too few confirmations", at("seen", 1), []string{"Confirm", "Reorganise"}},
		{"enough confirmations", at("confirmed", 2), []string{"Reorganise"}},
		{"final by Lightning", lightning, nil},
		{"late and unconfirmed", at("late", 0), []string{"Confirm", "Double spend"}},
		{"dropped", at("replaced", 0), nil},
		{"reorganised", at("reorged", 0), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			doc := page(t, func(r *api.Resource) { r.Mode, r.Payments = "test", tt.payments })
			buttons := doc.Find("#simulate button[name=action]").Map(func(_ int, b *goquery.Selection) string { return text(b) })
			if diff := cmp.Diff(slices.Concat(arrives, tt.then, clock), buttons); diff != "" {
				t.Errorf("buttons (-want +got):\n%s", diff)
			}
			headings := []string{"A payment arrives"}
			if tt.then != nil {
				headings = append(headings, "Then")
			}
			headings = append(headings, "This invoice's clock")
			got := doc.Find("#simulate h3").Map(func(_ int, h *goquery.Selection) string { return text(h) })
			if diff := cmp.Diff(headings, got); diff != "" {
				t.Errorf("headings (-want +got):\n%s", diff)
			}
		})
	}
}
