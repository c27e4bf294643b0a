package merchant_test

import (
	"strings"
	"testing"

	"chequer/internal/merchant"
)

func TestNewMethods_refuses_malformed_and_repeated_codes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		codes []string
		want  string
		fault string
	}{
		{nil, "", ""},
		{[]string{"EURC-BASE", "BTC"}, "EURC-BASE BTC", ""},
		{[]string{"BTC", "BTC"}, "", "must not contain BTC twice"},
		{[]string{"btc"}, "", "must be codes of payment methods"},
		{[]string{"BTC ETH"}, "", "must be codes of payment methods"},
		{[]string{""}, "", "must be codes of payment methods"},
	} {
		got, err := merchant.NewMethods(tt.codes)
		if string(got) != tt.want || (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("NewMethods(%q) = %q, %v, want %q, %q", tt.codes, got, err, tt.want, tt.fault)
		}
		if codes := got.Codes(); strings.Join(codes, " ") != tt.want {
			t.Errorf("Codes of %q = %q", got, codes)
		}
	}
}
