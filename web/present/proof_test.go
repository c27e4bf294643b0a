package present_test

import (
	"testing"

	"chequer/web/present/presenttest"
)

func TestProof_is_shown_beside_addresses_only(t *testing.T) {
	t.Parallel()
	text, key := presenttest.Proof(t)
	for _, state := range states {
		r := presenttest.Invoice("abc")
		state.change(&r)
		r.Proof = text
		page := show(t, r)
		shown := page.Find(".fields .addr").Length() > page.Find(".saved .addr").Length()
		part := page.Find("details#proof")
		if (part.Length() == 1) != shown {
			t.Errorf("%s: proof %v, addresses %v", state.name, part.Length() == 1, shown)
		}
		if shown && (part.Find("code").Text() != string(key) || part.Find("a").AttrOr("href", "") != "/invoice/abc/proof.txt") {
			t.Errorf("%s: %s", state.name, part.Text())
		}
	}
}
