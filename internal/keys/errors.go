package keys

import "errors"

// No error of this package contains a part of the parsed text, because the text may be a secret
// that was pasted by mistake.
var (
	// ErrPrivateKey means that a text can spend money: an extended private key, a single private
	// key or a recovery phrase.
	ErrPrivateKey = errors.New("this is a private key or a recovery phrase, which must never be shared: move its coins to a new wallet, and enter the extended public key instead")
	// ErrMultisig means that a key is one of several keys of a multisig wallet (the prefixes of SLIP-132
	// with a capital letter). The key alone does not give the addresses of the wallet.
	ErrMultisig = errors.New("this is a multisig key (Ypub, Zpub, Upub or Vpub), which is not supported")
	// ErrMalformed means that a text is not a valid extended public key.
	ErrMalformed = errors.New("not a valid extended public key such as xpub… or zpub…")
	// ErrDescriptor means that a text is not a valid output descriptor, or is a descriptor whose
	// addresses do not derive from one extended public key.
	ErrDescriptor = errors.New("not a descriptor that can be used, such as wpkh([73c5da0a/84h/0h/0h]xpub…/0/*)")
	// ErrDepth means that the path from a key of this depth to its addresses is unknown.
	ErrDepth = errors.New("neither an account key such as m/84'/0'/0' nor a chain key such as m/84'/0'/0'/0")
	// ErrScript means that the script type of a key's addresses is unknown, or that the key contradicts
	// the script type that the caller gave.
	ErrScript = errors.New("script type missing or wrong")
	// ErrNetwork means that a key or an address belongs to another coin, or to the other of the main
	// and the test network.
	ErrNetwork = errors.New("for another network")
	// ErrKind means that a kind of wallet is unknown, or has no extended public keys.
	ErrKind = errors.New("the kind of wallet must be BTC, LTC, ETH or XMR")
	// ErrViewKey means that a text is not the private view key of a Monero wallet.
	ErrViewKey = errors.New("not the private view key of the wallet")
	// ErrIndex means that an index is 2³¹ or above: only a private key can derive it.
	ErrIndex = errors.New("address index above 2147483647")
	// ErrAddress means that a text is not an address of its network.
	ErrAddress = errors.New("not a valid address")
)

// coinError is an ErrNetwork whose message names the coin of a key instead of a network.
type coinError string

func (e coinError) Error() string { return string(e) }

// Is implements the method that errors.Is calls. It reports whether target is ErrNetwork.
func (coinError) Is(target error) bool { return target == ErrNetwork }
