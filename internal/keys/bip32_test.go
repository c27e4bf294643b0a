package keys_test

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"testing"

	"chequer/internal/keys"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg"
)

// The package derives keys like hdkeychain; these vectors verify hdkeychain.
func TestBIP32_vectors_are_derived(t *testing.T) {
	t.Parallel()
	for _, vector := range bip32 {
		seed, err := hex.DecodeString(vector.seed)
		if err != nil {
			t.Fatal(err)
		}
		private, err := hdkeychain.NewMaster(seed, &chaincfg.MainNetParams)
		if err != nil {
			t.Fatal(err)
		}
		var public *hdkeychain.ExtendedKey
		for i, step := range vector.steps {
			if i > 0 {
				index := lastStep(t, step.chain)
				if index < hdkeychain.HardenedKeyStart {
					child, err := public.Derive(index)
					if err != nil || child.String() != step.public {
						t.Errorf("%s: public parent key → public child key = %v, %v, want %s", step.chain, child, err, step.public)
					}
				}
				if private, err = private.Derive(index); err != nil {
					t.Fatal(err)
				}
			}
			if private.String() != step.private {
				t.Errorf("%s: private key = %s, want %s", step.chain, private, step.private)
			}
			if public, err = private.Neuter(); err != nil {
				t.Fatal(err)
			}
			if public.String() != step.public {
				t.Errorf("%s: public key = %s, want %s", step.chain, public, step.public)
			}
		}
	}
}

func TestParse_accepts_the_BIP32_vectors(t *testing.T) {
	t.Parallel()
	for _, vector := range bip32 {
		for _, step := range vector.steps {
			var want error
			switch depth := strings.Count(step.chain, "/"); {
			case depth == 3:
			case depth == 4 && lastStep(t, step.chain) < hdkeychain.HardenedKeyStart:
			default:
				want = keys.ErrDepth
			}
			key, err := keys.Parse(step.public, keys.BTC, keys.Main, keys.P2PKH)
			if !errors.Is(err, want) {
				t.Errorf("%s: Parse() = %v, want %v", step.chain, err, want)
			}
			if err == nil && key.String() != "btc:p2pkh:"+step.public {
				t.Errorf("%s: String() = %s, want the same key", step.chain, key)
			}
			if _, err := keys.Parse(step.private, keys.BTC, keys.Main, keys.P2PKH); !errors.Is(err, keys.ErrPrivateKey) {
				t.Errorf("%s: Parse(private key) = %v, want ErrPrivateKey", step.chain, err)
			}
		}
	}
}

// The last chain of vector 1 is an address of the chain above it.
func TestAddress_of_a_BIP32_vector(t *testing.T) {
	t.Parallel()
	steps := bip32[0].steps
	key, err := keys.Parse(steps[4].public, keys.BTC, keys.Main, keys.P2PKH)
	if err != nil {
		t.Fatal(err)
	}
	child, err := hdkeychain.NewKeyFromString(steps[5].public)
	if err != nil {
		t.Fatal(err)
	}
	public, err := child.ECPubKey()
	if err != nil {
		t.Fatal(err)
	}
	want := "76a914" + hex.EncodeToString(btcutil.Hash160(public.SerializeCompressed())) + "88ac"
	if _, got, err := key.Address(1000000000); err != nil || got != want {
		t.Errorf("Address(1000000000) has script %s, %v, want %s", got, err, want)
	}
}

// lastStep returns the child number of the last step of a path such as m/0'/1.
func lastStep(t *testing.T, chain string) uint32 {
	t.Helper()
	text := chain[strings.LastIndex(chain, "/")+1:]
	number, isHardened := strings.CutSuffix(text, "'")
	index, err := strconv.ParseUint(number, 10, 31)
	if err != nil {
		t.Fatal(err)
	}
	if isHardened {
		return uint32(index) + hdkeychain.HardenedKeyStart
	}
	return uint32(index)
}
