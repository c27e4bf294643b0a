package merchant

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// revision returns a short hash of values: two equal revisions are the same values. A page sends the
// revision that it showed with a change, so that the change of other values is refused.
func revision(values ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", values))
	return hex.EncodeToString(sum[:8])
}

// Revision identifies the values of a product that can be changed.
func (p Product) Revision() string {
	return revision(p.MerchantID, string(p.Mode), p.Slug, p.Name, p.Description, p.Price.String(), p.Price.Currency().Code, p.VAT.String(), p.MaxQuantity,
		string(p.AskOrderID), string(p.AskNote), string(p.Methods), p.Active, p.CreatedAt.UnixMilli())
}

// Revision identifies the values of a link that can be changed.
func (l Link) Revision() string {
	var endsAt int64
	if !l.EndsAt.IsZero() {
		endsAt = l.EndsAt.UnixMilli()
	}
	return revision(l.MerchantID, string(l.Mode), l.Slug, l.Amount, l.Currency, l.Description, l.Language, l.URLSuccess, l.URLFailure,
		string(l.Methods), endsAt, l.MaxUses, l.CreatedAt.UnixMilli())
}

// Revision identifies the values of an endpoint that can be changed.
func (e Endpoint) Revision() string {
	return revision(e.MerchantID, e.ID, e.URL, strings.Join(e.Events, " "))
}

// checkRevision returns a check that refuses values with another revision with ErrStale.
func checkRevision[T interface{ Revision() string }](revision string) func(T) error {
	return func(value T) error {
		if value.Revision() != revision {
			return ErrStale
		}
		return nil
	}
}

// unchecked accepts every value.
func unchecked[T any](T) error { return nil }
