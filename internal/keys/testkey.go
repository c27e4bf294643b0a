package keys

import (
	"fmt"
	"io"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg"
)

// NewTestKey returns the extended private key (tprv) and the extended public key of a new test wallet,
// made from 32 random bytes: of the account m/84'/1'/0' for Bitcoin and Litecoin, m/44'/1'/0' for Ethereum. For Monero it
// is the private spend key of a wallet on stagenet.
// The private key can spend money that was sent to the wallet by mistake, so the caller must seal it at
// once; importing it into a wallet recovers the money. See BIP 32, "Master key generation", and SLIP-44
// for coin 1.
func NewTestKey(random io.Reader, kind Kind) (private string, public Key, err error) {
	if private, public, err = newTestKey(random, kind); err != nil {
		return "", Key{}, fmt.Errorf("make test key: %w", err)
	}
	return private, public, nil
}

func newTestKey(random io.Reader, kind Kind) (private string, public Key, err error) {
	if kind == XMR {
		return newMoneroTestKey(random)
	}
	purpose, script := uint32(84), P2WPKH
	if kind == ETH {
		purpose, script = 44, ""
	}
	seed := make([]byte, hdkeychain.RecommendedSeedLen)
	defer clear(seed)
	if _, err := io.ReadFull(random, seed); err != nil {
		return "", Key{}, err
	}
	key, err := hdkeychain.NewMaster(seed, &chaincfg.TestNet3Params)
	if err != nil {
		return "", Key{}, err
	}
	for _, step := range []uint32{purpose, 1, 0} {
		parent := key
		key, err = parent.Derive(hardened + step)
		parent.Zero()
		if err != nil {
			return "", Key{}, err
		}
	}
	defer key.Zero()
	neutered, err := key.Neuter()
	if err != nil {
		return "", Key{}, err
	}
	public, err = Parse(neutered.String(), kind, Test, script)
	return key.String(), public, err
}
