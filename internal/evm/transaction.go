package evm

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Transaction is a transaction of type 2 without an access list. See EIP-1559.
type Transaction struct {
	ChainID uint64
	Nonce   uint64
	Tip     *big.Int // highest priority fee, in the coin's smallest units per gas
	FeeCap  *big.Int // highest fee including the tip, in the coin's smallest units per gas
	Gas     uint64   // highest amount of gas
	To      Address
	Value   *big.Int // in the coin's smallest units
	Data    []byte
}

// transactionType is the first byte of a transaction of type 2.
const transactionType = 2

// maxWord is the number of bytes of the largest number.
const maxWord = 32

// MaxFee returns the largest fee that the transaction may cost, in the coin's smallest units, without the fee
// that a rollup adds for its data on Ethereum.
func (t Transaction) MaxFee() *big.Int {
	return new(big.Int).Mul(new(big.Int).SetUint64(t.Gas), t.FeeCap)
}

// SigningHash returns the hash that the sender signs.
func (t Transaction) SigningHash() Hash {
	return Keccak256([]byte{transactionType}, encodeList(t.fields()))
}

// Raw returns the signed transaction, as nodes accept it.
func (t Transaction) Raw(s Signature) []byte {
	items := appendRLP(t.fields(), uintBytes(s.parity()))
	items = appendRLP(items, trimmed(s.R[:]))
	items = appendRLP(items, trimmed(s.S[:]))
	return append([]byte{transactionType}, encodeList(items)...)
}

// fields returns the encoded fields of the transaction without its signature.
func (t Transaction) fields() []byte {
	var items []byte
	for _, content := range [][]byte{
		uintBytes(t.ChainID), uintBytes(t.Nonce), t.Tip.Bytes(), t.FeeCap.Bytes(), uintBytes(t.Gas), t.To[:], t.Value.Bytes(), t.Data,
	} {
		items = appendRLP(items, content)
	}
	return append(items, encodeList(nil)...)
}

// uintBytes returns a number in big-endian without leading zeros.
func uintBytes(n uint64) []byte { return trimmed(binary.BigEndian.AppendUint64(nil, n)) }

// trimmed returns bytes without leading zeros.
func trimmed(b []byte) []byte {
	for len(b) > 0 && b[0] == 0 {
		b = b[1:]
	}
	return b
}

// Equal reports whether two transactions have the same fields.
func (t Transaction) Equal(o Transaction) bool { return slices.Equal(t.fields(), o.fields()) }

var errTransaction = errors.New("not a signed transaction of type 2")

// ParseTransaction parses 0x and the hex digits of a signed transaction of type 2 without an access list.
func ParseTransaction(text string) (Transaction, Signature, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) == 0 || raw[0] != transactionType || digits != strings.ToLower(digits) {
		return Transaction{}, Signature{}, errTransaction
	}
	t, s, err := decodeTransaction(raw[1:])
	if err != nil {
		return Transaction{}, Signature{}, fmt.Errorf("%w: %w", errTransaction, err)
	}
	return t, s, nil
}

// fieldCount is the number of fields of a signed transaction.
const fieldCount = 12

// decodeTransaction decodes the list of a signed transaction.
func decodeTransaction(list []byte) (t Transaction, s Signature, err error) {
	isList, items, rest, err := splitRLP(list)
	if err != nil || !isList || len(rest) > 0 {
		return t, s, errRLP
	}
	var fields [][]byte
	for len(items) > 0 {
		var content []byte
		isList, content, items, err = splitRLP(items)
		if err != nil {
			return t, s, err
		}
		if isAccessList := len(fields) == 8; isList != isAccessList || isAccessList && len(content) > 0 {
			return t, s, fmt.Errorf("%w: a field is of the wrong kind", errRLP)
		}
		fields = append(fields, content)
	}
	if len(fields) != fieldCount || len(fields[5]) != len(t.To) {
		return t, s, fmt.Errorf("%w: it has not the fields of a transfer", errRLP)
	}
	numbers := map[int]*big.Int{}
	for i, limit := range map[int]int{0: 8, 1: 8, 2: maxWord, 3: maxWord, 4: 8, 6: maxWord, 9: 1, 10: maxWord, 11: maxWord} {
		if len(fields[i]) > limit || len(fields[i]) > 0 && fields[i][0] == 0 {
			return t, s, fmt.Errorf("%w: a number is out of range", errRLP)
		}
		numbers[i] = new(big.Int).SetBytes(fields[i])
	}
	t = Transaction{
		ChainID: numbers[0].Uint64(), Nonce: numbers[1].Uint64(), Tip: numbers[2], FeeCap: numbers[3], Gas: numbers[4].Uint64(),
		To: Address(fields[5]), Value: numbers[6], Data: fields[7],
	}
	if numbers[9].Uint64() > 1 {
		return t, s, errSignature
	}
	s = Signature{R: UintWord(numbers[10]), S: UintWord(numbers[11]), V: firstV + byte(numbers[9].Uint64())}
	return t, s, s.check()
}
