package evm

import (
	"errors"
	"math/big"
)

// Word is a value in the contract ABI: 32 bytes, numbers as big-endian.
type Word [32]byte

// AddressWord returns the word of an address.
func AddressWord(a Address) (w Word) {
	copy(w[12:], a[:])
	return w
}

// UintWord returns the word of a number. It panics if n is negative or has more than 256 bits.
func UintWord(n *big.Int) (w Word) {
	if n.Sign() < 0 {
		panic("evm: a negative number has no word")
	}
	n.FillBytes(w[:])
	return w
}

// NumberWord returns the word of a number.
func NumberWord(n uint64) Word { return UintWord(new(big.Int).SetUint64(n)) }

// Selector returns the first four bytes of a call of a function, such as "transfer(address,uint256)". See the
// contract ABI specification, "Function Selector".
func Selector(function string) []byte {
	hash := Keccak256([]byte(function))
	return hash[:4]
}

// EncodeCall returns the data of a call of a function whose arguments are all static.
func EncodeCall(function string, arguments ...Word) []byte {
	data := Selector(function)
	for _, w := range arguments {
		data = append(data, w[:]...)
	}
	return data
}

// EncodeBytesCall returns the data of a call of a function whose only argument has the type bytes.
func EncodeBytesCall(function string, content []byte) []byte {
	return appendBytes(EncodeCall(function, NumberWord(32)), content)
}

// appendBytes appends the length of bytes, and the bytes up to a multiple of a word.
func appendBytes(data, content []byte) []byte {
	data = append(appendWords(data, NumberWord(uint64(len(content)))), content...)
	return append(data, make([]byte, (32-len(content)%32)%32)...)
}

// Multicall3 is the address of the contract of that name on all networks that Chequer knows. See
// github.com/mds1/multicall3.
var Multicall3 = must(ParseChecksummed("0xcA11bde05977b3631167028862bE2a173976CA11"))

func must(a Address, err error) Address {
	if err != nil {
		panic(err)
	}
	return a
}

// Call is a call of a contract.
type Call struct {
	To   Address
	Data []byte
}

// Aggregate3 returns the data of a call of Multicall3.aggregate3 with several calls, each of which may fail.
func Aggregate3(calls []Call) []byte { return aggregate3(calls, 1) }

// Aggregate3Strict returns the data of a call of Multicall3.aggregate3 that fails if one of the calls fails. An estimate of its
// gas includes all calls, because a call that runs out of gas fails the whole.
func Aggregate3Strict(calls []Call) []byte { return aggregate3(calls, 0) }

// aggregate3 returns the data of a call of Multicall3.aggregate3. Each call may fail if mayFail is 1.
func aggregate3(calls []Call, mayFail uint64) []byte {
	data := EncodeCall("aggregate3((address,bool,bytes)[])", NumberWord(32), NumberWord(uint64(len(calls))))
	var heads, tails []byte
	for _, c := range calls {
		heads = appendWords(heads, NumberWord(uint64(32*len(calls)+len(tails))))
		tails = appendWords(tails, AddressWord(c.To), NumberWord(mayFail), NumberWord(96))
		tails = appendBytes(tails, c.Data)
	}
	return append(append(data, heads...), tails...)
}

func appendWords(data []byte, words ...Word) []byte {
	for _, w := range words {
		data = append(data, w[:]...)
	}
	return data
}

// errABI means that bytes are not the encoding of values in the contract ABI.
var errABI = errors.New("malformed values of a contract")

// ParseAggregate3 returns for each call whether it succeeded, from the result of Multicall3.aggregate3 with a number of calls.
func ParseAggregate3(result []byte, count int) ([]bool, error) {
	const size = len(Word{})
	word := func(at int) (int, bool) {
		if at < 0 || at+size > len(result) {
			return 0, false
		}
		n := new(big.Int).SetBytes(result[at : at+size])
		return int(n.Int64()), n.IsInt64() && n.Int64() <= int64(len(result))
	}
	offset, hasOffset := word(0)
	length, hasLength := word(size)
	if !hasOffset || offset != size || !hasLength || length != count {
		return nil, errABI
	}
	succeeded := make([]bool, count)
	for i := range succeeded {
		tail, hasTail := word(2*size + i*size)
		flag, hasFlag := word(2*size + tail)
		if !hasTail || !hasFlag || flag > 1 {
			return nil, errABI
		}
		succeeded[i] = flag == 1
	}
	return succeeded, nil
}
