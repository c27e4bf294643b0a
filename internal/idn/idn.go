// Package idn converts international domain names in URLs to ASCII.
package idn

import (
	"strings"

	"golang.org/x/net/idna"
)

// URL returns an absolute URL with its host in Punycode (RFC 3492), mapped as browsers
// do (UTS 46). It does not change the rest of the text. It returns a URL unchanged if the
// host is ASCII or is not a domain name. It does not check whether the URL is valid.
func URL(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return text
	}
	authority, tail := rest, ""
	if end := strings.IndexAny(rest, `/\?#`); end >= 0 {
		authority, tail = rest[:end], rest[end:]
	}
	host, port := authority, ""
	if colon := strings.LastIndexByte(authority, ':'); colon >= 0 {
		host, port = authority[:colon], authority[colon:]
	}
	if isASCII(host) || strings.ContainsAny(host, "@[]%:") {
		return text
	}
	name, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return text
	}
	return scheme + "://" + name + port + tail
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}
