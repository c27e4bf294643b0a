package server

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

var (
	errNoLink    = &problem{status: http.StatusNotFound, code: api.CodeLinkNotFound, message: "There is no such link"}
	errSlugTaken = &problem{status: http.StatusConflict, code: "slug_taken", message: "There is a link with this slug already"}
)

// linkFields are the fields of a link that can be changed.
func (s *server) linkFields(l *merchant.Link) map[string]field {
	return map[string]field{
		"amount":          {set: amount(&l.Amount)},
		"fiat_currency":   {set: text(&l.Currency, 8)},
		"description":     {set: text(&l.Description, 512)},
		"language":        {set: language(&l.Language)},
		"url_success":     {set: returnURL(&l.URLSuccess)},
		"url_failure":     {set: returnURL(&l.URLFailure)},
		"payment_methods": {set: s.choice(l.Mode, &l.Methods)},
		"ends_at":         {set: optionalTime(&l.EndsAt)},
		"max_uses":        {set: between(&l.MaxUses, 0, merchant.MaxLinkUses)},
	}
}

// choice parses a list of payment methods, each of which must be offered on this server. An empty
// list selects the merchant's own setting.
func (s *server) choice(mode merchant.Mode, into *merchant.Methods) func(any) error {
	return func(value any) error {
		list, ok := value.([]any)
		if !ok {
			return errors.New("must be a list of codes such as BTC")
		}
		codes := make([]string, len(list))
		for i, v := range list {
			codes[i], _ = v.(string)
		}
		m, err := merchant.NewMethods(codes)
		if err != nil {
			return err
		}
		for _, code := range codes {
			if !s.invoices.HasMethod(invoice.Mode(mode), code) {
				return errors.New("names " + code + ", which is not offered here")
			}
		}
		*into = m
		return nil
	}
}

// optionalTime parses a time in RFC 3339. An empty text is the zero time.
func optionalTime(into *time.Time) func(any) error {
	return func(value any) error {
		t, ok := value.(string)
		if ok && t == "" {
			*into = time.Time{}
			return nil
		}
		at, err := time.Parse(time.RFC3339, t)
		if !ok || err != nil || at.Year() < 1970 || at.Year() > 9999 {
			return errors.New("must be a time such as 2026-12-31T23:00:00Z")
		}
		*into = at.UTC().Truncate(time.Millisecond)
		return nil
	}
}

// createLink handles POST links.
func (s *server) createLink(c echo.Context, k call) error {
	if err := requireJSON(c); err != nil {
		return err
	}
	l := merchant.Link{MerchantID: k.key.MerchantID, Mode: k.key.Mode}
	fields := s.linkFields(&l)
	fields["slug"] = field{set: text(&l.Slug, 64)}
	fields["fiat_currency"] = field{required: true, set: fields["fiat_currency"].set}
	if err := decode(k.body, fields); err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := s.useNonce(ctx, k); err != nil {
		return err
	}
	l, err := s.links.Create(ctx, l)
	if errors.Is(err, merchant.ErrExists) {
		return errSlugTaken
	}
	if err != nil {
		return err
	}
	answer := wire.Link(s.baseURL, l)
	c.Response().Header().Set("Location", answer.URL)
	return writeJSON(c, http.StatusCreated, answer)
}

// changeLink handles PATCH links/{slug}.
func (s *server) changeLink(c echo.Context, k call) error {
	if err := requireJSON(c); err != nil {
		return err
	}
	if err := decode(k.body, s.linkFields(&merchant.Link{Mode: k.key.Mode})); err != nil { // check the body before the nonce is used up
		return err
	}
	ctx := c.Request().Context()
	if err := s.useNonce(ctx, k); err != nil {
		return err
	}
	l, err := s.links.Change(ctx, k.key.MerchantID, k.key.Mode, c.Param("slug"), func(l *merchant.Link) error {
		return decode(k.body, s.linkFields(l))
	})
	if errors.Is(err, merchant.ErrNotFound) {
		return errNoLink
	}
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, wire.Link(s.baseURL, l))
}

// listLinks handles GET links.
func (s *server) listLinks(c echo.Context, k call) error {
	all, err := s.links.Links(c.Request().Context(), k.key.MerchantID)
	if err != nil {
		return err
	}
	answer := api.LinkList{Links: []api.Link{}}
	for _, l := range all {
		if l.Mode == k.key.Mode {
			answer.Links = append(answer.Links, wire.Link(s.baseURL, l))
		}
	}
	return writeJSON(c, http.StatusOK, answer)
}

// showLink handles GET links/{slug}.
func (s *server) showLink(c echo.Context, k call) error {
	l, err := s.links.Link(c.Request().Context(), c.Param("slug"))
	if errors.Is(err, merchant.ErrNotFound) || err == nil && (l.MerchantID != k.key.MerchantID || l.Mode != k.key.Mode) {
		return errNoLink
	}
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, wire.Link(s.baseURL, l))
}

// removeLink handles DELETE links/{slug}.
func (s *server) removeLink(c echo.Context, k call) error {
	ctx := c.Request().Context()
	if err := s.useNonce(ctx, k); err != nil {
		return err
	}
	err := s.links.RemoveLink(ctx, k.key.MerchantID, k.key.Mode, c.Param("slug"))
	if errors.Is(err, merchant.ErrNotFound) {
		return errNoLink
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
