package present

import (
	"chequer/internal/api"
	"chequer/internal/proof"
	"chequer/views"
)

// proofOf returns the address of an invoice's signed statement, and the key that the statement names. The
// page does not state whether the signature is valid, because a page that was tampered with would state
// that as well.
func proofOf(r api.Resource, self string) views.Proof {
	key, found := proof.KeyIn(r.Proof)
	if !found {
		return views.Proof{}
	}
	return views.Proof{URL: self + "/proof.txt", Key: string(key)}
}
