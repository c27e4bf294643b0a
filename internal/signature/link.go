package signature

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// LinkMessage is what signs a checkout link: its parameters, without the
// signature, sorted by name. See RFC 3986, sections 2.1 and 2.3, for how each is
// written.
func LinkMessage(parameters map[string]string) []byte {
	pairs := make([]string, 0, len(parameters))
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		pairs = append(pairs, percent(name)+"="+percent(parameters[name]))
	}
	return []byte("chequer-link-v1\n" + strings.Join(pairs, "&"))
}

// percent encodes all but letters, digits and "-._~": QueryEscape does, but for
// the space.
func percent(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
