package web_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"chequer/web/present/presenttest"
)

func TestProof_is_the_text_of_the_service(t *testing.T) {
	t.Parallel()
	r := presenttest.Invoice("abc")
	r.Proof, _ = presenttest.Proof(t)
	answer := get(t, pages(t, newService(r), nil), "/invoice/abc/proof.txt")
	body, err := io.ReadAll(answer.Body)
	if err != nil || string(body) != r.Proof {
		t.Errorf("%v: got %q, want %q", err, body, r.Proof)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Content-Disposition": `inline; filename="proof-abc.txt"`,
		// WebKit wraps lines with its own style sheet, which a policy for styles would refuse.
		"Content-Security-Policy": "script-src 'none'; object-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
	} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// If the service returns no signature, or an invalid signature, the page shows no proof.
func TestProof_is_omitted_without_a_valid_signature(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"no signature": "", "an invalid signature": "chequer-proof-v1\n<script>"} {
		r := presenttest.Invoice("abc")
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
