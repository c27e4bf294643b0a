package views_test

import (
	"fmt"
	"testing"

	"github.com/skip2/go-qrcode"

	"chequer/views"
)

// BenchmarkNewQR measures drawing the code of a token payment that is not cached, and the encoder alone as a
// baseline.
func BenchmarkNewQR(b *testing.B) {
	text := func(i int) string {
		return fmt.Sprintf("ethereum:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913@8453/transfer?address=0x1111111254EEB25477B68fb85Ed929f73A960582&uint256=%d", i)
	}
	b.Run("page", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := views.NewQR(text(i)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoder", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			code, err := qrcode.New(text(i), qrcode.Medium)
			if err != nil {
				b.Fatal(err)
			}
			code.Bitmap()
		}
	})
}
