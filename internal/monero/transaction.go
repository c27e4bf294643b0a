package monero

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Hash is the hash of a transaction or of a block.
type Hash [32]byte

// String returns 64 hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// KeyImage identifies the output that an input spends, without naming it. Two transactions with one key image are a double spend.
type KeyImage [32]byte

// String returns 64 hex digits.
func (k KeyImage) String() string { return hex.EncodeToString(k[:]) }

// Transaction is the part of a transaction that matters to its recipients.
type Transaction struct {
	UnlockTime uint64     // block height or Unix time in seconds before which the outputs cannot be spent; 0 for none
	Coinbase   bool       // the transaction creates the reward of a block
	Height     uint64     // only of a coinbase transaction
	KeyImages  []KeyImage // of all inputs; none of a coinbase transaction
	Outputs    []Output
	Extra      []byte
	encrypted  bool // the amounts are encrypted
}

// Locked reports whether the outputs have a time lock. Those of coinbase transactions always have one of 60 blocks.
func (t *Transaction) Locked() bool { return t.UnlockTime != 0 }

// Output is an output of a transaction.
type Output struct {
	Key        PublicKey // one-time key P
	amount     uint64    // in piconero; 0 if the amounts are encrypted
	viewTag    byte
	hasViewTag bool
	masked     [8]byte  // the encrypted amount
	commitment [32]byte // of the encrypted amount
}

// Limits on the JSON of a transaction, in bytes and in numbers of elements. A transaction has at most 1,000,000 bytes, each byte of
// extra is up to five bytes of JSON, and coinbase transactions have as many outputs as a pool has members.
const (
	maxTransactionJSON = 8 << 20
	maxInputs          = 1 << 14
	maxOutputs         = 1 << 14
)

// The types of ring confidential transactions. See rctSigBase in src/ringct/rctTypes.h of Monero.
const (
	ringNone            = 0 // plain amounts
	ringFull            = 1
	ringSimple          = 2
	ringBulletproof     = 3
	ringBulletproof2    = 4 // from here on amounts have 8 bytes
	ringCLSAG           = 5
	ringBulletproofPlus = 6
)

// ParseTransaction parses the JSON that monerod gives in the field "as_json" of the call get_transactions, with or without
// "prune". It returns ErrNewerFormat, ErrOlderFormat or ErrMalformed.
func ParseTransaction(text []byte) (*Transaction, error) {
	if len(text) > maxTransactionJSON {
		return nil, malformed("a transaction", "too large")
	}
	var raw transactionJSON
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, malformed("a transaction", "no JSON of it")
	}
	return raw.transaction()
}

// malformed returns an ErrMalformed that names a thing and its fault.
func malformed(thing, fault string) error {
	return fmt.Errorf("%s: %w: %s", thing, ErrMalformed, fault)
}

// newer returns an ErrNewerFormat with the part that is not known.
func newer(format string, values ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, values...), ErrNewerFormat)
}

// hex8 and hex32 are bytes as hex digits.
type (
	hex8  [8]byte
	hex32 [32]byte
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hex8) UnmarshalText(text []byte) error { return decodeHex(h[:], string(text)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hex32) UnmarshalText(text []byte) error { return decodeHex(h[:], string(text)) }

// transactionJSON is the JSON of a transaction. Fields that must be present are pointers. Inputs and targets are objects whose only
// field names their type.
type transactionJSON struct {
	Version    *uint64                      `json:"version"`
	UnlockTime *uint64                      `json:"unlock_time"`
	Inputs     []map[string]json.RawMessage `json:"vin"`
	Outputs    []outputJSON                 `json:"vout"`
	Extra      []byte                       `json:"extra"`
	Signatures *signaturesJSON              `json:"rct_signatures"`
}

type outputJSON struct {
	Amount uint64                     `json:"amount"`
	Target map[string]json.RawMessage `json:"target"`
}

type signaturesJSON struct {
	Type        *uint64      `json:"type"`
	Amounts     []amountJSON `json:"ecdhInfo"`
	Commitments []*hex32     `json:"outPk"`
}

type amountJSON struct {
	Amount json.RawMessage `json:"amount"` // hex8, or hex32 in the older types
}

// transaction checks and converts a transaction.
func (raw transactionJSON) transaction() (*Transaction, error) {
	switch {
	case raw.Version == nil || raw.UnlockTime == nil || *raw.Version == 0:
		return nil, malformed("a transaction", "a field is missing")
	case *raw.Version > 2:
		return nil, newer("version %d of transactions", *raw.Version)
	case len(raw.Inputs) == 0 || len(raw.Inputs) > maxInputs || len(raw.Outputs) > maxOutputs:
		return nil, malformed("a transaction", "the number of inputs or outputs is out of range")
	}
	t := &Transaction{UnlockTime: *raw.UnlockTime, Extra: raw.Extra}
	for _, input := range raw.Inputs {
		if err := t.addInput(input); err != nil {
			return nil, err
		}
	}
	if t.Coinbase && len(raw.Inputs) > 1 {
		return nil, malformed("a transaction", "a coinbase transaction has one input")
	}
	for _, o := range raw.Outputs {
		output, err := o.output()
		if err != nil {
			return nil, err
		}
		t.Outputs = append(t.Outputs, output)
	}
	if *raw.Version == 1 {
		return t, nil
	}
	if err := t.addAmounts(raw.Signatures); err != nil {
		return nil, err
	}
	return t, nil
}

// addInput adds an input of the type "gen" or "key".
func (t *Transaction) addInput(input map[string]json.RawMessage) error {
	kind, content, err := onlyField("an input", input)
	if err != nil {
		return err
	}
	switch kind {
	case "gen":
		var gen struct {
			Height *uint64 `json:"height"`
		}
		if json.Unmarshal(content, &gen) != nil || gen.Height == nil {
			return malformed("an input", "no height")
		}
		t.Coinbase, t.Height = true, *gen.Height
	case "key":
		var key struct {
			Image *hex32 `json:"k_image"`
		}
		if json.Unmarshal(content, &key) != nil || key.Image == nil {
			return malformed("an input", "no key image")
		}
		t.KeyImages = append(t.KeyImages, KeyImage(*key.Image))
	default:
		return newer("an input of the type %.20q", kind)
	}
	return nil
}

// onlyField returns the only field of an object.
func onlyField(thing string, object map[string]json.RawMessage) (name string, content json.RawMessage, err error) {
	if len(object) != 1 {
		return "", nil, malformed(thing, "it does not have one type")
	}
	for name, content = range object {
	}
	return name, content, nil
}

// output converts an output with a target of the type "key" or "tagged_key".
func (raw outputJSON) output() (Output, error) {
	kind, content, err := onlyField("an output", raw.Target)
	if err != nil {
		return Output{}, err
	}
	switch kind {
	case "key":
		var key *hex32
		if json.Unmarshal(content, &key) != nil || key == nil {
			return Output{}, malformed("an output", "no key")
		}
		return Output{Key: PublicKey(*key), amount: raw.Amount}, nil
	case "tagged_key":
		var tagged struct {
			Key     *hex32 `json:"key"`
			ViewTag string `json:"view_tag"`
		}
		var tag [1]byte
		if json.Unmarshal(content, &tagged) != nil || tagged.Key == nil || decodeHex(tag[:], tagged.ViewTag) != nil {
			return Output{}, malformed("an output", "no key or view tag")
		}
		return Output{Key: PublicKey(*tagged.Key), amount: raw.Amount, viewTag: tag[0], hasViewTag: true}, nil
	default:
		return Output{}, newer("an output of the type %.20q", kind)
	}
}

// addAmounts adds the encrypted amounts and their commitments to the outputs of a transaction of version 2.
func (t *Transaction) addAmounts(raw *signaturesJSON) error {
	if raw == nil || raw.Type == nil {
		return malformed("a transaction", "no type of signatures")
	}
	switch *raw.Type {
	case ringNone:
		if !t.Coinbase {
			return malformed("a transaction", "plain amounts")
		}
		return nil
	case ringFull, ringSimple, ringBulletproof:
		return fmt.Errorf("signatures of type %d: %w", *raw.Type, ErrOlderFormat)
	case ringBulletproof2, ringCLSAG, ringBulletproofPlus:
	default:
		return newer("signatures of type %d", *raw.Type)
	}
	if t.Coinbase || len(raw.Amounts) != len(t.Outputs) || len(raw.Commitments) != len(t.Outputs) {
		return malformed("a transaction", "the amounts do not match the outputs")
	}
	t.encrypted = true
	for i := range t.Outputs {
		var masked *hex8
		if json.Unmarshal(raw.Amounts[i].Amount, &masked) != nil || masked == nil || raw.Commitments[i] == nil || t.Outputs[i].amount != 0 {
			return malformed("an output", "no encrypted amount or no commitment")
		}
		t.Outputs[i].masked, t.Outputs[i].commitment = *masked, *raw.Commitments[i]
	}
	return nil
}
