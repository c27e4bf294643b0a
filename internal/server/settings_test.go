package server_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/merchant"
)

// The merchant's payment settings are the terms of new invoices, except for the terms that the request states.
// Existing invoices keep their terms.
func TestCreate_applies_the_payment_settings(t *testing.T) {
	t.Parallel()
	type terms struct {
		Quote       time.Duration
		Tolerance   string
		Late        bool
		LatePercent int64
		Depth       []int // of the first method
	}
	for name, tt := range map[string]struct {
		choices merchant.Choices
		fixed   merchant.Overrides
		request string // further fields
		want    terms
	}{
		"defaults":         {nil, nil, "", terms{15 * time.Minute, "0", false, 95, []int{1, 2}}},
		"a quote":          {merchant.Choices{"quote_minutes": "30"}, nil, "", terms{30 * time.Minute, "0", false, 95, []int{1, 2}}},
		"a stated quote":   {merchant.Choices{"quote_minutes": "30"}, nil, `,"expires_in":120`, terms{2 * time.Minute, "0", false, 95, []int{1, 2}}},
		"a tolerance":      {merchant.Choices{"tolerance_percent": "1"}, nil, "", terms{15 * time.Minute, "1", false, 95, []int{1, 2}}},
		"the environment":  {merchant.Choices{"tolerance_percent": "1"}, merchant.Overrides{"tolerance_percent": {Value: "0.5"}}, "", terms{15 * time.Minute, "0.5", false, 95, []int{1, 2}}},
		"late by worth":    {merchant.Choices{"late_payments": "worth"}, nil, "", terms{15 * time.Minute, "0", true, 95, []int{1, 2}}},
		"late":             {merchant.Choices{"late_payments": "accept"}, nil, "", terms{15 * time.Minute, "0", true, 0, []int{1, 2}}},
		"late, not stated": {merchant.Choices{"late_payments": "worth"}, nil, `,"allow_paid_expired":null`, terms{15 * time.Minute, "0", true, 95, []int{1, 2}}},
		"late, refused":    {merchant.Choices{"late_payments": "worth"}, nil, `,"allow_paid_expired":false`, terms{15 * time.Minute, "0", false, 95, []int{1, 2}}},
		"late, requested":  {nil, nil, `,"allow_paid_expired":true`, terms{15 * time.Minute, "0", true, 95, []int{1, 2}}},
		"more depth":       {merchant.Choices{"confirmations": "more"}, nil, "", terms{15 * time.Minute, "0", false, 95, []int{2, 2}}},
		"most depth":       {merchant.Choices{"confirmations": "most"}, nil, "", terms{15 * time.Minute, "0", false, 95, []int{2, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			f.merchants.choices, f.creation.Overrides = tt.choices, tt.fixed
			f.restart()
			id := f.create(t, "all", `{"amount":100,"fiat_currency":"EUR"`+tt.request+`}`)
			f.merchants.choices = merchant.Choices{"quote_minutes": "7", "tolerance_percent": "7", "late_payments": "accept"}
			inv, err := f.invoices.Invoice(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			got := terms{inv.ExpiresAt().Sub(inv.CreatedAt), inv.Terms.Rules.Tolerance.String(), inv.Terms.AllowPaidExpired, inv.Terms.Rules.LatePercent, nil}
			for _, d := range inv.Methods[0].Asset.Policy.Depth {
				got.Depth = append(got.Depth, d.Confirmations)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
		})
	}
}
