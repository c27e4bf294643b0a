package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/a-h/templ"

	"chequer/internal/client"
	"chequer/views"
	"chequer/web/live"
	"chequer/web/present"
)

// source reads invoices and renders the live parts of their pages for streams.
type source struct {
	handler *Handler
	read    func(ctx context.Context, id string) (client.Snapshot, error)
	watch   func(id string, changed func(version int64)) (cancel func())
}

// newSource returns the source of a handler. It follows the changes of the service in this process, or polls a
// service in another process.
func newSource(h *Handler) *source {
	if h.config.Watch != nil {
		return &source{h, h.config.Client.Invoice, h.config.Watch}
	}
	poller := client.NewPoller(h.config.Client)
	return &source{h, poller.Invoice, poller.Watch}
}

// Read implements live.Source.
func (s *source) Read(ctx context.Context, id string) (live.State, error) {
	snapshot, err := s.read(ctx, id)
	if err != nil {
		return live.State{}, fmt.Errorf("read invoice: %w", err)
	}
	r := snapshot.Resource
	state := live.State{
		PageVersion: present.Version(snapshot), Version: r.Version, Final: present.Final(r),
		ExpiresIn: present.ChangesIn(snapshot, s.handler.config.Now()),
		Render:    func(ctx context.Context, v live.Variant) (string, error) { return s.render(ctx, snapshot, v) },
	}
	if found, ok := s.handler.config.ShopSettings(ctx, snapshot.MerchantID).Languages.Find(r.Language); ok {
		state.Language = found.Code
	}
	return state, nil
}

// Watch implements live.Source.
func (s *source) Watch(id string, changed func(version int64)) (cancel func()) {
	return s.watch(id, changed)
}

// IsGone implements live.Source.
func (s *source) IsGone(err error) bool { return errors.Is(err, client.ErrNotFound) }

// render returns the live part of the page of an invoice.
func (s *source) render(ctx context.Context, snapshot client.Snapshot, v live.Variant) (string, error) {
	settings := s.handler.config.ShopSettings(ctx, snapshot.MerchantID)
	language, ok := settings.Languages.Find(v.Language)
	if !ok { // the page is open in a language that is not offered any more
		language = settings.Languages.Default()
	}
	f := s.handler.plainPaymentFrame(ctx, settings, present.Reader{Language: language, Explicit: v.Explicit}, snapshot)
	f.Modal, f.Query = v.Modal, present.ViewQuery(v.Modal)
	page := f.Payment(snapshot, "", false)
	var b bytes.Buffer
	if err := templ.RenderFragments(ctx, &b, views.PaymentPage(page), "live"); err != nil {
		return "", fmt.Errorf("render live part: %w", err)
	}
	return b.String(), nil
}

// preferredLanguages returns the codes of two languages that a shop offers. code is that of the requested language,
// or "" if the shop does not offer it or none is requested. fallback is that of the language that suits the
// browser's Accept-Language header best.
func (h *Handler) preferredLanguages(ctx context.Context, shopID, requested, accepted string) (code, fallback string) {
	languages := h.config.ShopSettings(ctx, shopID).Languages
	if found, ok := languages.Find(requested); ok {
		code = found.Code
	}
	return code, languages.Choose(accepted).Code
}
