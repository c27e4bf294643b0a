package exchange

import (
	"crypto/sha256"
	"fmt"
)

// UUID returns a version 8 UUID derived from a text. It is always the same for the same text. See
// RFC 9562, section 5.8.
func UUID(text string) string {
	sum := sha256.Sum256([]byte(text))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
