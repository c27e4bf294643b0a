package server

import (
	"context"
	"net/http"
	"regexp"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

var errNoLink = &problem{status: http.StatusNotFound, code: api.CodeLinkNotFound, message: "There is no such link"}

// linkProblems are the error answers of calls about links.
var linkProblems = problems{
	merchant.ErrNotFound: errNoLink,
	merchant.ErrExists:   &problem{status: http.StatusConflict, code: "slug_taken", message: "There is a link with this slug already"},
}

// link returns the API's view of a link.
func (s *server) link(l merchant.Link) api.Link { return wire.Link(s.BaseURL, l) }

// admitChange refuses a choice of payment methods that are not offered on this server, and uses up the
// nonce of a call that creates or changes a link or a product.
func (s *server) admitChange(c echo.Context, k call, methods *[]string) error {
	if methods != nil {
		for _, code := range *methods {
			if !s.Invoices.HasMethod(invoice.Mode(k.key.Mode), code) {
				return invalid("payment_methods", "contains "+code+", which this server does not offer")
			}
		}
	}
	return s.useNonce(c.Request().Context(), k)
}

// createLink handles POST links.
func (s *server) createLink(c echo.Context, k call) error {
	r, err := request[api.LinkRequest](c, k)
	if err != nil {
		return err
	}
	if err := s.admitChange(c, k, r.PaymentMethods); err != nil {
		return err
	}
	l := merchant.Link{MerchantID: k.key.MerchantID, Mode: k.key.Mode, Slug: r.Slug}
	if err := wire.ChangeLink(&l, r.LinkChange); err != nil {
		return err
	}
	if l, err = s.Links.Create(c.Request().Context(), l); err != nil {
		return err
	}
	answer := s.link(l)
	c.Response().Header().Set("Location", answer.URL)
	return writeJSON(c, http.StatusCreated, answer)
}

// changeLink handles PATCH links/{slug}.
func (s *server) changeLink(c echo.Context, k call) error {
	r, err := request[api.LinkChange](c, k)
	if err != nil {
		return err
	}
	if err := s.admitChange(c, k, r.PaymentMethods); err != nil {
		return err
	}
	l, err := s.Links.Change(c.Request().Context(), k.key.MerchantID, k.key.Mode, c.Param("slug"), func(l *merchant.Link) error {
		return wire.ChangeLink(l, r)
	})
	return reply(c, s.link, l, err)
}

// linkIDPattern matches the slug in a cursor of the list of links.
var linkIDPattern = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// listLinks handles GET links: the links of the key's merchant and mode, newest first.
func (s *server) listLinks(c echo.Context, k call) error {
	after, limit := invoice.Position{}, defaultPage
	err := parseQuery(c.Request().URL.RawQuery, map[string]parameter{"cursor": listCursor(&after, linkIDPattern), "limit": within(&limit, 1, maxPage)})
	if err != nil {
		return err
	}
	links, err := s.Links.Links(c.Request().Context(), k.key.MerchantID, k.key.Mode, merchant.LinkPosition{CreatedAt: after.CreatedAt, Slug: after.ID}, limit+1)
	if err != nil {
		return err
	}
	more := invoice.Position{}
	if len(links) > limit {
		links = links[:limit]
		last := links[limit-1].Position()
		more = invoice.Position{CreatedAt: last.CreatedAt, ID: last.Slug}
	}
	return writeJSON(c, http.StatusOK, api.LinkList{Links: views(s.link, links, nil), NextCursor: nextCursor(more)})
}

// showLink handles GET links/{slug}.
func (s *server) showLink(c echo.Context, k call) error {
	l, err := s.Links.Link(c.Request().Context(), c.Param("slug"))
	if err == nil && (l.MerchantID != k.key.MerchantID || l.Mode != k.key.Mode) {
		return errNoLink
	}
	return reply(c, s.link, l, err)
}

// removeLink handles DELETE links/{slug}.
func (s *server) removeLink(c echo.Context, k call) error {
	return s.remove(c, k, s.Links.Remove)
}

// remove handles the DELETE of a link or a product of the key's merchant and mode.
func (s *server) remove(c echo.Context, k call, remove func(ctx context.Context, merchantID string, mode merchant.Mode, slug string) error) error {
	ctx := c.Request().Context()
	if err := s.useNonce(ctx, k); err != nil {
		return err
	}
	if err := remove(ctx, k.key.MerchantID, k.key.Mode, c.Param("slug")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
