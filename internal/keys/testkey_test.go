package keys_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"chequer/internal/keys"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg"
)

func TestNewTestKey_belongs_to_the_test_network(t *testing.T) {
	t.Parallel()
	tests := map[keys.Kind]struct{ stored, address string }{
		keys.BTC: {"btc:p2wpkh:tpub", "tb1q"},
		keys.LTC: {"ltc:p2wpkh:tpub", "tltc1q"},
		keys.ETH: {"eth:tpub", "0x"},
	}
	for kind, want := range tests {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			private, key, err := keys.NewTestKey(rand.Reader, kind)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(key.String(), want.stored) || key.Network() != keys.Test {
				t.Errorf("NewTestKey() = %s of the %s network, want %s…", key, key.Network(), want.stored)
			}
			if address, _, err := key.Address(0); err != nil || !strings.HasPrefix(address, want.address) {
				t.Errorf("Address(0) = %s, %v, want %s…", address, err, want.address)
			}
			spending, err := hdkeychain.NewKeyFromString(private)
			if err != nil || !spending.IsPrivate() || spending.Depth() != 3 {
				t.Fatalf("the private text is not an account key: %v", err)
			}
			public, err := spending.Neuter()
			if err != nil || !strings.HasSuffix(key.String(), ":"+public.String()) {
				t.Errorf("the private text belongs to %s, want %s; error %v", public, key, err)
			}
			if _, err := keys.Parse(private, kind, keys.Test, ""); !errors.Is(err, keys.ErrPrivateKey) {
				t.Errorf("Parse(private text) = %v, want ErrPrivateKey", err)
			}
			if _, other, err := keys.NewTestKey(rand.Reader, kind); err != nil || other.Fingerprint() == key.Fingerprint() {
				t.Errorf("the second key equals the first one, error %v", err)
			}
		})
	}
}

// The seed of the published mnemonic is 64 bytes, more than NewTestKey reads, so
// the path is checked step by step instead.
func TestNewTestKey_is_the_account_key(t *testing.T) {
	t.Parallel()
	seed := bytes.Repeat([]byte{7}, 32)
	for kind, purpose := range map[keys.Kind]uint32{keys.BTC: 84, keys.LTC: 84, keys.ETH: 44} {
		private, _, err := keys.NewTestKey(bytes.NewReader(seed), kind)
		if err != nil {
			t.Fatal(err)
		}
		if want := accountAt(t, seed, purpose); private != want {
			t.Errorf("NewTestKey(%s) is not the account m/%d'/1'/0'", kind, purpose)
		}
	}
}

func TestNewTestKey_fails_without_random_bytes(t *testing.T) {
	t.Parallel()
	errRandom := errors.New("no random bytes")
	for name, random := range map[string]io.Reader{
		"an error":  iotest.ErrReader(errRandom),
		"too short": bytes.NewReader(make([]byte, 31)),
	} {
		private, _, err := keys.NewTestKey(random, keys.BTC)
		if err == nil || private != "" {
			t.Errorf("%s: NewTestKey() = %d bytes, %v, want an error", name, len(private), err)
		}
	}
	if _, _, err := keys.NewTestKey(rand.Reader, "DOGE"); !errors.Is(err, keys.ErrKind) {
		t.Errorf("NewTestKey(DOGE) = %v, want ErrKind", err)
	}
}

func accountAt(t *testing.T, seed []byte, purpose uint32) string {
	t.Helper()
	key, err := hdkeychain.NewMaster(seed, &chaincfg.TestNet3Params)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []uint32{purpose, 1, 0} {
		if key, err = key.Derive(hdkeychain.HardenedKeyStart + step); err != nil {
			t.Fatal(err)
		}
	}
	return key.String()
}
