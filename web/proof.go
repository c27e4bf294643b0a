package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/views"
)

// proof serves GET /invoice/{id}/proof.txt, the signed statement as the service returns it.
func (h *Handler) proof(c echo.Context) error {
	snapshot, err := h.invoice(c)
	if err != nil {
		return err
	}
	if snapshot.Resource.Proof == "" {
		return echo.ErrNotFound
	}
	c.Response().Header().Set("Content-Disposition", `inline; filename="proof-`+views.Reference(c.Param("id"))+`.txt"`)
	c.Response().Header().Set("Content-Security-Policy", textPolicy)
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(snapshot.Resource.Proof))
}
