package storage

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// A packed text is not empty, has no space and does not begin with birthMark. Hexadecimal text is
// stored as base64, a third shorter, after hexMark. Text that is empty, has a space or begins with a
// mark is stored as base64 after textMark. Other text is unchanged.
const (
	hexMark  = "="
	textMark = "'"
)

// pack returns the packed form of a text.
func pack(text string) string {
	data, err := hex.DecodeString(text)
	switch {
	case err == nil && len(data) > 2 && strings.ToLower(text) == text:
		return hexMark + base64.RawStdEncoding.EncodeToString(data)
	case text == "" || strings.Contains(text, " ") || strings.ContainsAny(text[:1], hexMark+textMark+birthMark):
		return textMark + base64.RawStdEncoding.EncodeToString([]byte(text))
	}
	return text
}

// unpack returns a text from its packed form.
func unpack(packed string) (string, error) {
	encoded, isHex := strings.CutPrefix(packed, hexMark)
	if !isHex {
		var isText bool
		if encoded, isText = strings.CutPrefix(packed, textMark); !isText {
			return packed, nil
		}
	}
	data, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("packed text %q: %w", packed, err)
	}
	if isHex {
		return hex.EncodeToString(data), nil
	}
	return string(data), nil
}
