package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/proof"
	"chequer/views"
)

// proof serves GET /invoice/{id}/proof.txt: the signed statement as the service returns it.
func (h *Handler) proof(c echo.Context) error {
	snapshot, err := h.invoice(c)
	if err != nil {
		return err
	}
	if snapshot.Resource.Proof == "" {
		return echo.ErrNotFound
	}
	c.Response().Header().Set("Content-Disposition", `inline; filename="proof-`+views.Reference(c.Param("id"))+`.txt"`)
	c.Response().Header().Set("Content-Security-Policy", plainPolicy)
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(snapshot.Resource.Proof))
}

// proofOf returns the address of an invoice's statement, and the key that it names. The page shows
// it beside addresses only, and does not say whether the signature is valid: a page that was
// tampered with would say so, too.
func proofOf(r api.Resource, self string) views.Proof {
	signed, err := proof.Parse(r.Proof)
	if err != nil {
		return views.Proof{}
	}
	return views.Proof{URL: self + "/proof.txt", Key: string(signed.Key())}
}
