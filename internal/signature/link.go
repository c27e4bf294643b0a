package signature

import (
	"chequer/internal/format"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// linkParameters are all parameters that a signed checkout link may have.
var linkParameters = []string{
	"amount", "fiat_currency", "order_id", "url_success", "url_failure", "description", "language", "expires", "key", "sig",
}

// LinkQuery returns the part of a query that belongs to a signed checkout link, with each pair as
// it was written. Mail programs, advertisers and chats append their own parameters, such as fbclid
// and utm_source, which are dropped. A name that differs from a parameter of the link only in case
// or spelling is kept, so that the link is refused.
func LinkQuery(query string) string {
	parameters := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		return !slices.ContainsFunc(linkParameters, func(known string) bool { return strings.EqualFold(known, strings.TrimSpace(name)) })
	})
	return strings.Join(parameters, "&")
}

// LinkMessage returns the signed message of a checkout link: its parameters, without the signature,
// sorted by name. See RFC 3986, sections 2.1 and 2.3, for their encoding.
func LinkMessage(parameters map[string]string) []byte {
	pairs := make([]string, 0, len(parameters))
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		pairs = append(pairs, format.PercentEncode(name)+"="+format.PercentEncode(parameters[name]))
	}
	return []byte("chequer-link-v1\n" + strings.Join(pairs, "&"))
}
