package server

import (
	"context"
	"net/http"

	"chequer/internal/api"
	"chequer/internal/caller"
	"chequer/internal/invoice"
)

var (
	errTooManyByKey = &problem{
		status: http.StatusTooManyRequests, code: "rate_limited", retry: 1,
		message: "This key makes too many requests",
	}
	errTooManyByAddress = &problem{
		status: http.StatusTooManyRequests, code: "rate_limited", retry: 1,
		message: "This address makes too many requests",
	}
)

// limitClass is the class of a request for an invoice in the limits of unpaid invoices.
type limitClass int

const (
	// signed requests carry a signature of the merchant, or the secret of a terminal.
	signed limitClass = iota
	// published are requests for a product or a checkout link of the merchant.
	published
	// openForm are requests of the storefront, for any amount.
	openForm
)

var (
	errTooManyUnpaid = &problem{
		status: http.StatusTooManyRequests, code: api.CodeTooManyUnpaid, retry: 60,
		message: "The shop has reached its limit of unpaid invoices: try again in some minutes",
	}
	errTooManyUnpaidNetwork = &problem{
		status: http.StatusTooManyRequests, code: api.CodeTooManyUnpaidNetwork, retry: 60,
		message: "The network of the shopper has reached its limit of unpaid invoices: try again in some minutes",
	}
)

// unpaidLimits returns the limits of unpaid invoices for a request. Each address block around the
// shopper has a share of the whole limit, so that no network can use all of it. The storefront has
// half of the whole limit, so that it is refused before products and links are.
func (s *server) unpaidLimits(ctx context.Context, class limitClass, k call) []invoice.UnpaidLimit {
	if s.MaxUnpaid == 0 || class == signed {
		return nil
	}
	var limits []invoice.UnpaidLimit
	if k.key.Builtin { // calls with other keys come over the network, and their context has no shopper
		for _, block := range caller.Blocks(caller.FromContext(ctx)) {
			limits = append(limits, invoice.UnpaidLimit{Group: block.Prefix, Max: block.ShareOf(s.MaxUnpaid)})
		}
	}
	perMerchant := s.MaxUnpaid
	if class == openForm {
		perMerchant = (perMerchant + 1) / 2
	}
	return append(limits, invoice.UnpaidLimit{Max: perMerchant})
}
