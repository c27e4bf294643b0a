package keys

import "errors"

// No error of this package contains a part of the parsed text, because the text may be a secret
// that was pasted by mistake.
var (
	// ErrPrivateKey means that a text can spend money: an extended private key, a single private
	// key or a recovery phrase.
	ErrPrivateKey = errors.New("this is a private key or a recovery phrase, which must never be shared: move its coins to a new wallet, and enter the extended public key instead")
	// ErrMultisig means that a key belongs to several signers (the capital letters of SLIP-132). A
	// single signer's wallet could not spend from the addresses of such a key.
	ErrMultisig = errors.New("this is a multisig key (Ypub, Zpub, Upub or Vpub), which is not supported")
	// ErrMalformed means that a text is not a valid extended public key.
	ErrMalformed = errors.New("not a valid extended public key such as xpub… or zpub…")
	// ErrDescriptor means that a text is not a valid output descriptor, or is of a kind for which
	// one extended public key does not give addresses.
	ErrDescriptor = errors.New("not a descriptor that can be used, such as wpkh([73c5da0a/84h/0h/0h]xpub…/0/*)")
	// ErrDepth means that the path from a key of this depth to its addresses is unknown.
	ErrDepth = errors.New("neither an account key such as m/84'/0'/0' nor a chain key such as m/84'/0'/0'/0")
	// ErrScript means that the script of a key's addresses is not known, or that the key
	// contradicts the script that the caller gave.
	ErrScript = errors.New("script type missing or wrong")
	// ErrNetwork means that a key or an address belongs to another coin, or to the test network
	// instead of the main one, or the other way round.
	ErrNetwork = errors.New("for another network")
	// ErrKind means that a kind of wallet is not known.
	ErrKind = errors.New("the kind of wallet must be BTC, LTC or ETH")
	// ErrIndex means that only a private key can derive the index: 2³¹ and above.
	ErrIndex = errors.New("address index above 2147483647")
	// ErrAddress means that a text is not an address of its network.
	ErrAddress = errors.New("not a valid address")
)

// coinError is an ErrNetwork whose message names the coin of a key instead of a network.
type coinError string

func (e coinError) Error() string { return string(e) }

// Is reports whether target is ErrNetwork, for errors.Is.
func (coinError) Is(target error) bool { return target == ErrNetwork }
