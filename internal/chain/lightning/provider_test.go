package lightning_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/bolt11"
)

func TestCheck_refuses_requests_that_shoppers_cannot_use(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_790_000_000, 0).UTC()
	key, err := btcec.NewPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte("preimage"))
	for name, test := range map[string]struct {
		change func(r *bolt11.Request, m *lightning.Made)
		want   string
	}{
		"none":            {func(*bolt11.Request, *lightning.Made) {}, ""},
		"no named hash":   {func(_ *bolt11.Request, m *lightning.Made) { m.Hash = "" }, ""},
		"a minute left":   {func(r *bolt11.Request, _ *lightning.Made) { r.Expiry = time.Minute }, ""},
		"too short":       {func(r *bolt11.Request, _ *lightning.Made) { r.Expiry = 59 * time.Second }, "in less than 1m0s"},
		"a slow clock":    {func(r *bolt11.Request, _ *lightning.Made) { r.Time = now.Add(-time.Hour) }, "made 1h0m0s ago; compare the clocks"},
		"another network": {func(r *bolt11.Request, _ *lightning.Made) { r.Network = "tb" }, `for the network "lntb", want "lnbc"`},
		"more by a msat":  {func(r *bolt11.Request, _ *lightning.Made) { r.MilliSatoshi++ }, "asks 100001 msat, want 100000 msat"},
		"no amount":       {func(r *bolt11.Request, _ *lightning.Made) { r.MilliSatoshi = 0 }, "asks 0 msat, want 100000 msat"},
		"another hash":    {func(_ *bolt11.Request, m *lightning.Made) { m.Hash = strings.Repeat("0", 64) }, "another payment hash"},
		"not a request":   {func(_ *bolt11.Request, m *lightning.Made) { m.Text = "lnbc1" }, "payment request: bech32"},
	} {
		r := bolt11.Request{Network: "bc", MilliSatoshi: 100_000, Time: now, Expiry: time.Hour, PaymentHash: hash}
		made := lightning.Made{Hash: strings.ToUpper(hex.EncodeToString(hash[:]))}
		test.change(&r, &made)
		if made.Text == "" {
			if made.Text, err = r.Sign(key); err != nil {
				t.Fatal(err)
			}
		}
		got, err := lightning.Check(made, lightning.Ask{MilliSatoshi: 100_000}, "bc", now)
		if test.want == "" && (err != nil || got.PaymentHash != hash) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: Check() = %+v, %v, want %q", name, got, err, test.want)
		}
	}
}

func TestCheckPreimage_compares_the_hash(t *testing.T) {
	t.Parallel()
	preimage := []byte("12345678123456781234567812345678")
	sum := sha256.Sum256(preimage)
	text, hash := hex.EncodeToString(preimage), hex.EncodeToString(sum[:])
	for given, want := range map[string]bool{"": true, text: true, strings.ToUpper(text): true, text[2:]: false, hash: false, "zz": false} {
		err := lightning.CheckPreimage(given, hash)
		if (err == nil) != want || err != nil && (!errors.Is(err, lightning.ErrFault) || given != hash && strings.Contains(err.Error(), given)) {
			t.Errorf("CheckPreimage(%q) = %v, want accepted %t", given, err, want)
		}
	}
}
