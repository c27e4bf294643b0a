package present_test

import (
	"fmt"
	"testing"

	"chequer/internal/api"
	"chequer/web/present/presenttest"
)

func TestRequote_form_is_shown_if_the_service_allows_it(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		change   func(*api.Resource)
		selector string // selector of the button; empty if there is none
	}{
		{"created: among the help", nil, ".help form.requote .btn.alt"},
		{"quote expired: first action", func(r *api.Resource) { r.SecondsLeft = 0 }, ".act > form.requote:first-child .btn:not(.alt)"},
		{"partly paid: among the help", func(r *api.Resource) { r.Status, r.DueAmount, r.PaidAmount = api.StatusPending, "13.29", "43.21" }, ".help form.requote"},
		{"partly paid, quote expired: an action", func(r *api.Resource) {
			r.Status, r.DueAmount, r.PaidAmount, r.SecondsLeft = api.StatusPending, "13.29", "43.21", 0
		}, ".act form.requote"},
		{"expired: an action", func(r *api.Resource) { r.Status, r.SecondsLeft = api.StatusExpired, -900 }, ".act form.requote"},
		{"none if the service does not allow it", func(r *api.Resource) { r.MayRequote = false }, ""},
		{"none if the service reports no quotes", func(r *api.Resource) { r.Quotes = nil }, ""},
		{"none if the shop checks payments by hand", func(r *api.Resource) {
			r.SecondsLeft = 0
			for i := range r.PaymentMethods {
				r.PaymentMethods[i].Watched = false
			}
		}, ""},
		{"none if the whole amount is seen", func(r *api.Resource) { r.Status, r.DueAmount = api.StatusPending, "0" }, ""},
	} {
		doc := opened(t, frame(nil), presenttest.Requotable(tt.change), "EURC-BASE")
		forms := doc.Find("form.requote")
		if tt.selector == "" {
			if forms.Length() != 0 {
				t.Errorf("%s: the form is on the page", tt.name)
			}
			continue
		}
		if forms.Length() != 1 || doc.Find(tt.selector).Length() != 1 {
			t.Errorf("%s: %d forms, %d at %s, want 1 and 1", tt.name, forms.Length(), doc.Find(tt.selector).Length(), tt.selector)
		}
		got := fmt.Sprint(forms.AttrOr("action", ""), " ", forms.AttrOr("method", ""), " ", forms.Find("[name=quote]").AttrOr("value", ""), " ", forms.Find("[name=m]").AttrOr("value", ""))
		if want := "/invoice/abc/quote post 2 EURC-BASE"; got != want {
			t.Errorf("%s: form %s, want %s", tt.name, got, want)
		}
	}
}
