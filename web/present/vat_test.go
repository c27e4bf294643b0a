package present_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/locale"
	"chequer/web/present/presenttest"
)

// setVAT states a VAT rate of 7.7 percent.
func setVAT(r *api.Resource) {
	r.ClientAmount, r.ClientCurrency, r.VATRate, r.NetAmount, r.VATAmount = "56.5", "EUR", "7.7", "52.46", "4.04"
}

// The page of an invoice shows the VAT below the total, in the form of each language, and no row without a rate.
func TestPayment_shows_the_VAT(t *testing.T) {
	t.Parallel()
	wants := map[string]string{
		"en": "Includes 7.7\u00a0% VAT", "de": "Enthält 7,7\u00a0% MwSt.", "fr": "Dont TVA à 7,7\u00a0%", "es": "Incluye IVA del 7,7\u00a0%",
		"it": "Di cui IVA al 7,7%", "pt": "Inclui IVA a 7,7%", "nl": "Inclusief 7,7% btw", "sv": "Varav moms 7,7\u00a0%", "da": "Inkl. 7,7\u00a0% moms",
		"fi": "Sisältää ALV 7,7\u00a0%", "el": "Περιλαμβάνει ΦΠΑ 7,7%", "pl": "W tym VAT 7,7%", "cs": "Včetně DPH 7,7\u00a0%", "sk": "Vrátane DPH 7,7\u00a0%",
		"hu": "Ebből 7,7% ÁFA", "ro": "Include TVA 7,7\u00a0%", "bg": "Включва 7,7% ДДС", "hr": "Uključuje 7,7\u00a0% PDV-a", "sl": "Vključuje 7,7\u00a0% DDV",
		"et": "Sisaldab 7,7% käibemaksu", "lv": "Ietver PVN 7,7%", "lt": "Įskaitant 7,7\u00a0% PVM", "mt": "Jinkludi 7.7% VAT", "ga": "CBL 7.7% san áireamh",
		"ar": "يشمل ضريبة القيمة المضافة \u20687.7\u2069%",
	}
	got := map[string]string{}
	for _, l := range locale.All().List() {
		r := presenttest.Invoice("abc")
		if n := showIn(t, frameIn(l), r).Find(".tot .in dd.num").Length(); n != 0 {
			t.Errorf("%s: an invoice without a rate has %d rows of VAT", l.Code, n)
		}
		setVAT(&r)
		row := showIn(t, frameIn(l), r).Find(".tot .in:has(dd.num)")
		got[l.Code] = row.Find("dt").Text()
		if amount, want := row.Find("dd").Text(), l.Fiat("4.04", "EUR"); row.Length() != 1 || amount != want {
			t.Errorf("%s: %d rows of VAT, with the amount %q, want one with %q", l.Code, row.Length(), amount, want)
		}
	}
	if diff := cmp.Diff(got, wants); diff != "" {
		t.Errorf("labels (-got +want):\n%s", diff)
	}
}

// A rate of 0 percent is stated, and differs from no rate.
func TestPayment_shows_a_VAT_rate_of_zero(t *testing.T) {
	t.Parallel()
	doc := page(t, func(r *api.Resource) { r.VATRate, r.NetAmount, r.VATAmount = "0", r.ClientAmount, "0" })
	if got := text(doc.Find(".tot .in:has(dd.num)")); got != "Includes 0 % VAT€0.00" {
		t.Errorf("the row of the VAT has %q", got)
	}
}
