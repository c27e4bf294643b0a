package monero

import (
	"math"
	"testing"
)

func TestURI(t *testing.T) {
	t.Parallel()
	to, err := ParseAddress(primaryText)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		amount    uint64
		recipient string
		want      string
	}{
		{0, "", ""},
		{1_234_500_000_000, "Shop", "?tx_amount=1.2345&recipient_name=Shop"},
		// monero-wallet-rpc makes this link, but for the zeros at the end of the amount.
		{1_234_500_000_000, "Shop & Söhne + Co", "?tx_amount=1.2345&recipient_name=Shop%20%26%20S%C3%B6hne%20%2B%20Co"},
		{1, "", "?tx_amount=0.000000000001"},
		{11_000_000_000, "", "?tx_amount=0.011"},
		{10_000_000_000_000, "", "?tx_amount=10"},
		{math.MaxUint64, "", "?tx_amount=18446744.073709551615"},
		{0, "えん", "?recipient_name=%E3%81%88%E3%82%93"},
		{0, "a-b_c.d~e%#?=/'\"", "?recipient_name=a-b_c.d~e%25%23%3F%3D%2F%27%22"},
	} {
		if got := URI(to, tt.amount, tt.recipient); got != "monero:"+primaryText+tt.want {
			t.Errorf("URI(%d, %s) = %s, want %s", tt.amount, tt.recipient, got, tt.want)
		}
	}
}
