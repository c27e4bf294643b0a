package present

import (
	"chequer/internal/api"
	"chequer/internal/proof"
	"chequer/views"
)

// proofLink returns the address of an invoice's signed statement, and the key that the statement names. The
// page does not verify the signature, because a manipulated page would also show that it is valid.
func proofLink(r api.Resource, self string) views.Proof {
	key, found := proof.KeyIn(r.Proof)
	if !found {
		return views.Proof{}
	}
	return views.Proof{URL: self + "/proof.txt", Key: string(key)}
}
