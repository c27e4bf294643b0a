package web_test

import (
	"crypto/ed25519"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/proof"
)

// proven returns a signed statement of one address.
func proven(t *testing.T) (text string, key proof.PublicKey) {
	t.Helper()
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	key = proof.NewPublicKey(private.Public().(ed25519.PublicKey))
	text, err := proof.Sign(proof.Statement{
		Server: "https://pay.example", Invoice: "abc", Mode: "live", Quote: 1, From: noon, Until: noon.Add(15 * time.Minute), Amount: "56.5", Currency: "EUR",
		Methods: []proof.Method{{Currency: "BTC", Network: "bitcoin", Address: "bc1qexample", Amount: "0.00065379"}},
	}, proof.Key{Public: key, Private: private})
	if err != nil {
		t.Fatal(err)
	}
	return text, key
}

func TestProof_is_shown_beside_addresses_only(t *testing.T) {
	t.Parallel()
	text, key := proven(t)
	for _, state := range states {
		r := invoice("abc")
		state.change(&r)
		r.Proof = text
		page := document(t, get(t, pages(t, newService(r), nil), "/invoice/abc"))
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

func TestProof_is_the_text_of_the_service(t *testing.T) {
	t.Parallel()
	r := invoice("abc")
	r.Proof, _ = proven(t)
	answer := get(t, pages(t, newService(r), nil), "/invoice/abc/proof.txt")
	body, err := io.ReadAll(answer.Body)
	if err != nil || string(body) != r.Proof {
		t.Errorf("%v: got %q, want %q", err, body, r.Proof)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Content-Disposition": `inline; filename="proof-abc.txt"`,
		// WebKit wraps lines with a style of its own, which a policy for styles would refuse.
		"Content-Security-Policy": "script-src 'none'; object-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
	} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// If the service returns no signature, or an invalid one, the page shows no proof.
func TestProof_is_omitted_if_there_is_none(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"nothing": "", "nonsense": "chequer-proof-v1\n<script>"} {
		r := invoice("abc")
		r.Proof = text
		h := pages(t, newService(r), nil)
		if document(t, get(t, h, "/invoice/abc")).Find("#proof").Length() > 0 {
			t.Errorf("%s: the page shows a proof", name)
		}
		answer := get(t, h, "/invoice/abc/proof.txt")
		if text == "" && answer.StatusCode != http.StatusNotFound || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/") {
			t.Errorf("%s: %d, %s", name, answer.StatusCode, answer.Header.Get("Content-Type"))
		}
	}
	if got := get(t, pages(t, newService(), nil), "/invoice/none/proof.txt").StatusCode; got != http.StatusNotFound {
		t.Errorf("an unknown invoice: status %d, want 404", got)
	}
}
