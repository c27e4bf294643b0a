package keys

import "errors"

// No error of this package ever holds a part of the text that was read: it may
// be a secret, pasted by mistake.
var (
	// ErrPrivateKey means that a text spends money: an extended private key, a
	// single private key or the words of a wallet.
	ErrPrivateKey = errors.New("this is a private key or the words of a wallet, which must never leave their owner: if there is money on it, move it to a new wallet, and give the extended public key instead")
	// ErrMultisig means a key of several signers (SLIP-132's capital letters). One
	// signer's address made of it could not be spent by his wallet.
	ErrMultisig = errors.New("this is a multisig key (Ypub, Zpub, Upub or Vpub), which is not supported")
	// ErrMalformed means that a text is no sound extended public key.
	ErrMalformed = errors.New("not a valid extended public key such as xpub… or zpub…")
	// ErrDescriptor means that a text is no sound output descriptor, or one of a kind
	// that one extended public key does not make addresses for.
	ErrDescriptor = errors.New("not a descriptor that can be used, such as wpkh([73c5da0a/84h/0h/0h]xpub…/0/*)")
	// ErrDepth means that a key stands where no addresses are known to be.
	ErrDepth = errors.New("neither an account key such as m/84'/0'/0' nor a chain key such as m/84'/0'/0'/0")
	// ErrScript means that a key does not say which addresses its wallet shows, or
	// that it says something else than the caller.
	ErrScript = errors.New("script type missing or wrong")
	// ErrNetwork means a key or an address of another coin, or of the test network
	// where the main one is asked, or the other way round.
	ErrNetwork = errors.New("for another network")
	// ErrKind means that a kind of wallet is not known.
	ErrKind = errors.New("the kind of wallet must be BTC, LTC or ETH")
	// ErrIndex means an index that only a private key can derive: 2³¹ and up.
	ErrIndex = errors.New("address index above 2147483647")
	// ErrAddress means that a text is no address of its network.
	ErrAddress = errors.New("not a valid address")
)
