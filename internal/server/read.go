package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

// readInvoice handles GET invoices/{id}. It can wait for a new version.
func (s *server) readInvoice(c echo.Context, k call) error {
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set("Cache-Control", "private, no-cache")
	behind, err := s.Invoices.Behind(c.Request().Context(), inv)
	if err != nil {
		return err
	}
	if known := c.Request().Header.Values("If-None-Match"); matches(known, s.tagOf(inv, behind)) {
		wait := preferredWait(c.Request().Header.Values("Prefer"))
		if wait > 0 {
			header.Set("Preference-Applied", "wait="+strconv.Itoa(int(wait.Seconds())))
		}
		inv, err = s.waitFor(c, inv, wait)
		if tag := s.tagOf(inv, behind); errors.Is(err, invoice.ErrNotModified) && !matches(known, tag) {
			err = nil // a payment request ended meanwhile
		} else if errors.Is(err, invoice.ErrNotModified) {
			header.Set("ETag", tag)
			return c.NoContent(http.StatusNotModified)
		}
		if err != nil {
			return err
		}
	}
	return s.show(c, k, inv, behind)
}

// show writes the invoice resource. The evidence of its prices, its sales, and the names of staff are only for
// keys of the merchant: pages do not need them.
func (s *server) show(c echo.Context, k call, inv *invoice.Invoice, behind []chain.ID) error {
	r := wire.Resource(s.Invoices, inv, behind)
	if k.key.May(merchant.ScopeRead) || k.key.May(merchant.ScopeAdmin) {
		for i, q := range inv.Quotes {
			text, err := s.Invoices.Evidence(c.Request().Context(), q.Evidence)
			if err != nil && !errors.Is(err, invoice.ErrNotFound) {
				return err
			}
			if text != "" {
				r.Quotes[i].Evidence = json.RawMessage(text)
			}
		}
	} else {
		r.Conversions, r.ToleranceAmount, r.Accepted.Actor = []api.Sale{}, "", ""
		wire.HideStaff(&r)
	}
	var err error
	if r.Proof, err = s.prove(c.Request().Context(), r); err != nil {
		return err
	}
	style, err := s.themeOf(c.Request().Context(), inv.MerchantID)
	if err != nil {
		return err
	}
	c.Response().Header().Set(api.HeaderMerchant, inv.MerchantID)
	if style != "" {
		c.Response().Header().Set(api.HeaderTheme, style)
	}
	s.setInvoiceHeaders(c, inv, s.tagOf(inv, behind))
	return writeJSON(c, http.StatusOK, r)
}

// tagOf returns the ETag of the invoice resource. It changes with the version, with the set of networks that are behind,
// when a payment request begins or ends to be valid, and when that of a refund ends.
func (s *server) tagOf(inv *invoice.Invoice, behind []chain.ID) string {
	tag := strconv.FormatInt(inv.Version, 10)
	for _, network := range behind {
		tag += "-" + wire.Network(network)
	}
	if s.lacksRequest(inv) {
		tag += "-open"
	}
	if slices.ContainsFunc(inv.Refunds, func(r invoice.Refund) bool { _, ended := s.Invoices.RequestEnd(r); return ended }) {
		tag += "-ended"
	}
	return strconv.Quote(tag)
}

// lacksRequest reports whether no payment request is valid and one can be made.
func (s *server) lacksRequest(inv *invoice.Invoice) bool {
	if !slices.ContainsFunc(inv.Methods, func(m invoice.Method) bool { return m.Asset.Requested() }) {
		return false
	}
	e, now := s.Invoices.Evaluation(inv), s.Invoices.Now()
	return slices.ContainsFunc(inv.Methods, func(m invoice.Method) bool { return e.MayRequest(m, now) })
}

// waitFor waits for a newer version of an invoice. If there is none, it returns the given version and
// invoice.ErrNotModified.
func (s *server) waitFor(c echo.Context, inv *invoice.Invoice, wait time.Duration) (*invoice.Invoice, error) {
	if wait == 0 {
		return inv, invoice.ErrNotModified
	}
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	go func() {
		select {
		case <-s.Stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	newer, err := s.Invoices.Wait(ctx, inv.ID, inv.Version, wait)
	if err != nil {
		return inv, err
	}
	return newer, nil
}

// find returns the invoice in the path if the key may see it: a key of payment pages sees every invoice of its
// shop by its exact identifier, other keys see the invoices of their merchant and mode.
func (s *server) find(c echo.Context, k call) (*invoice.Invoice, error) {
	id := c.Param("id")
	if !idPattern.MatchString(id) {
		return nil, errNoInvoice
	}
	inv, err := s.Invoices.Invoice(c.Request().Context(), id)
	if err != nil {
		return nil, err
	}
	if !owns(k, inv) && !(k.serves(inv.MerchantID) && k.key.May(merchant.ScopePage)) {
		return nil, errNoInvoice
	}
	return inv, nil
}

// matches reports whether If-None-Match contains an ETag. The comparison is weak, and * matches
// any. See RFC 9110, section 13.1.2.
func matches(values []string, etag string) bool {
	for _, value := range values {
		for candidate := range strings.SplitSeq(value, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == etag || candidate == "*" {
				return true
			}
		}
	}
	return false
}

// maxWait is the maximum time that a caller can wait for a new version or event, in seconds.
const maxWait = 30

// preferredWait returns the wait of a Prefer header (RFC 7240, section 4.3), at most 30 seconds. It
// is zero if the header has no valid wait.
func preferredWait(values []string) time.Duration {
	for _, value := range values {
		for preference := range strings.SplitSeq(value, ",") {
			name, text, _ := strings.Cut(preference, "=")
			text, _, _ = strings.Cut(text, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(text), `"`), 10, 31)
			if err != nil {
				return 0
			}
			return time.Duration(min(seconds, maxWait)) * time.Second
		}
	}
	return 0
}
