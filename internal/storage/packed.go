package storage

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"chequer/internal/chain"
)

// A packed text is a third shorter if it is hexadecimal: then it is base64 after packedMark. Another
// text stays unchanged, after plainMark if necessary.
const (
	packedMark = "="
	plainMark  = "'"
)

// packHex returns a text in packed form.
func packHex(text string) string {
	if data, err := hex.DecodeString(text); err == nil && len(data) > 2 && strings.ToLower(text) == text {
		return packedMark + base64.RawStdEncoding.EncodeToString(data)
	}
	if strings.HasPrefix(text, packedMark) || strings.HasPrefix(text, plainMark) {
		return plainMark + text
	}
	return text
}

// unpackHex returns a text from its packed form.
func unpackHex(packed string) (string, error) {
	if text, plain := strings.CutPrefix(packed, plainMark); plain {
		return text, nil
	}
	encoded, is := strings.CutPrefix(packed, packedMark)
	if !is {
		return packed, nil
	}
	data, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("packed text %q: %w", packed, err)
	}
	return hex.EncodeToString(data), nil
}

// packScript returns the packed script of a destination, or "" if it is the address in lower case,
// as on EVM networks.
func packScript(d chain.Destination) string {
	switch d.Script {
	case strings.ToLower(d.Address):
		return ""
	case "":
		return plainMark
	}
	return packHex(d.Script)
}

func (r methodDestinationRow) destination() (chain.Destination, error) {
	if r.Script == "" {
		return chain.Destination{Address: r.Address, Script: strings.ToLower(r.Address)}, nil
	}
	script, err := unpackHex(r.Script)
	return chain.Destination{Address: r.Address, Script: script}, err
}
