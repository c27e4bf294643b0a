package server

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/signature"
)

var (
	errLinkMalformed = badRequest(api.CodeLinkMalformed, "The query of the link is malformed")
	errLinkChanged   = &problem{status: http.StatusForbidden, code: api.CodeLinkChanged, message: "The link was changed, or its key is not valid"}
	errLinkScope     = &problem{status: http.StatusForbidden, code: api.CodeLinkKey, message: "The key of the link may not sign links"}
	errLinkUsed      = &problem{status: http.StatusGone, code: api.CodeLinkExpired, message: "The link has reached its maximum number of uses"}
	errLinkExpired   = &problem{status: http.StatusGone, code: api.CodeLinkExpired, message: "The link has expired"}
)

// signedCheckout returns the content of a signed link. See CONTRACT, "Checkout links". The signature
// is verified before any value is checked.
func (s *server) signedCheckout(ctx context.Context, k call, query string) (checkout, error) {
	link := checkout{}
	parameters := s.linkParameters(&link)
	linkParams, err := linkValues(query, parameters)
	if err != nil {
		return link, err
	}
	key, err := s.linkKey(ctx, k, linkParams)
	if err != nil {
		return link, err
	}
	link.namespace, link.source, link.merchantID, link.mode = linkKeys, "key "+key.ID, key.MerchantID, key.Mode
	link.origin = invoice.Origin{Kind: invoice.FromSignedLink, ID: key.ID}
	for _, name := range slices.Sorted(maps.Keys(linkParams)) {
		if err := parameters[name](linkParams[name]); err != nil {
			return link, invalid(name, err.Error())
		}
	}
	price, err := s.Prices.Parse(link.price.digits, link.price.code)
	if err != nil {
		return link, err
	}
	if link.terms.OrderID != "" {
		link.order = invoice.Order{KeyID: key.ID, ID: link.terms.OrderID, Price: price}
	}
	if err := s.followOrder(ctx, &link); err != nil {
		return link, err
	}
	// An expired link still leads to the invoice of its order.
	if link.existing == nil && link.differing == nil && !link.expires.IsZero() && !s.Now().Before(link.expires) {
		return link, errLinkExpired
	}
	return link, nil
}

// linkParameters are all parameters of a signed link, which set the fields of a checkout.
func (s *server) linkParameters(link *checkout) map[string]parameter {
	value := func(set func(any) error) parameter { return func(v string) error { return set(v) } }
	checkedBefore := func(string) error { return nil }
	return map[string]parameter{
		"amount":        value(amount(&link.price.digits)),
		"fiat_currency": value(text(&link.price.code, 8)),
		"order_id":      value(text(&link.terms.OrderID, 128)),
		"url_success":   value(returnURL(&link.terms.URLSuccess)),
		"url_failure":   value(returnURL(&link.terms.URLFailure)),
		"description":   value(text(&link.terms.Description, 512)),
		"language":      optional(value(language(&link.terms.Language))),
		"expires":       optional(unix(&link.expires)),
		"key":           checkedBefore,
		"sig":           checkedBefore,
	}
}

// linkValues returns the parameters of a link in a query. Each parameter may be present at most once,
// and the required parameters must be present. Parameters that signature.LinkQuery drops are ignored.
// Errors contain no value and no unknown parameter, because the page of a forged link shows the error.
func linkValues(query string, known map[string]parameter) (map[string]string, error) {
	values, err := url.ParseQuery(signature.LinkQuery(query))
	if err != nil {
		return nil, errLinkMalformed
	}
	list := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name][0]
		switch _, isKnown := known[name]; {
		case !isKnown:
			return nil, badRequest(api.CodeLinkUnknown, "The link has an unknown parameter")
		case len(values[name]) > 1:
			return nil, badRequest(api.CodeLinkRepeated, "The link has "+name+" twice")
		case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
			return nil, errLinkMalformed
		}
		list[name] = value
	}
	for _, name := range []string{"amount", "fiat_currency", "key", "sig"} {
		if list[name] == "" {
			return nil, badRequest(api.CodeLinkMissing, "The link has no "+name)
		}
	}
	return list, nil
}

// linkKey returns the key that signed a link.
func (s *server) linkKey(ctx context.Context, k call, linkParams map[string]string) (merchant.Key, error) {
	if !keyPattern.MatchString(linkParams["key"]) {
		return merchant.Key{}, errLinkChanged
	}
	key, err := s.Merchants.Authenticate(ctx, linkParams["key"])
	if errors.Is(err, merchant.ErrNotFound) || err == nil && (!key.RevokedAt.IsZero() || key.Builtin || !k.serves(key.MerchantID)) {
		return merchant.Key{}, errLinkChanged
	}
	if err != nil {
		return merchant.Key{}, err
	}
	signed := maps.Clone(linkParams)
	delete(signed, "sig")
	if !signature.Verify(key.Secret, signature.LinkMessage(signed), linkParams["sig"]) {
		return merchant.Key{}, errLinkChanged
	}
	if !key.May(merchant.ScopeLink) {
		return merchant.Key{}, errLinkScope
	}
	s.recordUse(ctx, key)
	return key, nil
}

// optional wraps a parameter: an empty value is not set.
func optional(parse parameter) parameter {
	return func(value string) error {
		if value == "" {
			return nil
		}
		return parse(value)
	}
}

// unix parses a time in Unix seconds.
func unix(target *time.Time) parameter {
	return func(value string) error {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || !timestampPattern.MatchString(value) {
			return errors.New("must be a time in Unix seconds")
		}
		*target = time.Unix(seconds, 0)
		return nil
	}
}
