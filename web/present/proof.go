package present

import (
	"chequer/internal/api"
	"chequer/internal/proof"
	"chequer/views"
)

// proofLink returns the address of an invoice's signed statement, and the key that the statement names. The
// page does not say whether the signature is valid, because a manipulated page would also say that it is.
func proofLink(r api.Resource, self string) views.Proof {
	key, found := proof.KeyIn(r.Proof)
	if !found {
		return views.Proof{}
	}
	return views.Proof{URL: self + "/proof.txt", Key: string(key)}
}
