package web

import (
	"context"
	"time"

	"chequer/web/present"
)

// aheadPause is the pause after the codes of an invoice were drawn, as a multiple of the time that
// this took: drawing ahead takes at most a tenth of a processor.
const aheadPause = 9

// DrawAhead draws the codes of new invoices before their pages are opened, until the context ends. It
// reads their identifiers from Config.Created. If invoices are created faster than their codes are
// drawn, the codes of some are drawn only when their pages are opened.
func (h *Handler) DrawAhead(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-h.config.Created:
			snapshot, err := h.config.Client.Invoice(ctx, id)
			if err != nil {
				continue // the page will report it
			}
			began := time.Now()
			present.DrawCodes(snapshot.Resource)
			if err := pause(ctx, aheadPause*time.Since(began)); err != nil {
				return nil //nolint:nilerr // the context ended
			}
		}
	}
}
