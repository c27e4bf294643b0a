package signature_test

import (
	"strings"
	"testing"

	"chequer/internal/signature"

	"github.com/google/go-cmp/cmp"
)

// The SHA-512 of the empty message and of "abc": FIPS 180-4, from NIST's example values.
const (
	sha512Nothing = "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
	sha512ABC     = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
)

func TestRequestMessage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request signature.Request
		want    string
	}{
		"a read has no key and no body": {
			signature.Request{
				Timestamp: "1795812932", Nonce: "0123456789abcdef", Method: "GET",
				Target: "/pay/api/v2/invoices?cursor=&status=paid%20",
			},
			"chequer-v1\n1795812932\n0123456789abcdef\nGET\n/pay/api/v2/invoices?cursor=&status=paid%20\n\n" + sha512Nothing,
		},
		"a creation has both": {
			signature.Request{
				Timestamp: "1795812932", Nonce: "0123456789abcdef", Method: "POST",
				Target: "/api/v2/invoice/new", IdempotencyKey: "order-1042", Body: []byte("abc"),
			},
			"chequer-v1\n1795812932\n0123456789abcdef\nPOST\n/api/v2/invoice/new\norder-1042\n" + sha512ABC,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(string(test.request.Message()), test.want); diff != "" {
				t.Errorf("Message() differs (-got +want):\n%s", diff)
			}
		})
	}
}

func TestRequestMessage_every_field_is_signed(t *testing.T) {
	t.Parallel()
	base := signature.Request{
		Timestamp: "1", Nonce: "2", Method: "POST", Target: "/", IdempotencyKey: "3", Body: []byte("4"),
	}
	signed := signature.Sign("secret", base.Message())
	changes := map[string]func(*signature.Request){
		"timestamp":       func(r *signature.Request) { r.Timestamp = "5" },
		"nonce":           func(r *signature.Request) { r.Nonce = "5" },
		"method":          func(r *signature.Request) { r.Method = "PUT" },
		"target":          func(r *signature.Request) { r.Target = "//" },
		"idempotency key": func(r *signature.Request) { r.IdempotencyKey = "" },
		"body":            func(r *signature.Request) { r.Body = []byte(strings.Repeat("4", 2)) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := base
			change(&request)
			if signature.Verify("secret", request.Message(), signed) {
				t.Error("Verify() = true for a changed request")
			}
		})
	}
}
