package monero

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"strings"
)

// alphabet has the digits of Base58.
const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// Sizes of a full block in bytes and in characters.
const (
	blockSize        = 8
	encodedBlockSize = 11
)

// encodedSizes are the numbers of characters of blocks by their number of bytes.
var encodedSizes = [blockSize + 1]int{0, 2, 3, 5, 6, 7, 9, 10, encodedBlockSize}

// errBase58 means that a text is not canonical Base58.
var errBase58 = errors.New("malformed Base58")

// encodeBase58 returns the Base58 of Monero, which encodes blocks of 8 bytes as 11 characters each. See src/common/base58.cpp of
// Monero.
func encodeBase58(data []byte) string {
	var text []byte
	for len(data) > 0 {
		n := min(len(data), blockSize)
		text = append(text, encodeBlock(data[:n])...)
		data = data[n:]
	}
	return string(text)
}

// encodeBlock encodes 1 to 8 bytes.
func encodeBlock(data []byte) []byte {
	var padded [blockSize]byte
	copy(padded[blockSize-len(data):], data)
	n := binary.BigEndian.Uint64(padded[:])
	text := make([]byte, encodedSizes[len(data)])
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = alphabet[n%uint64(len(alphabet))]
		n /= uint64(len(alphabet))
	}
	return text
}

// decodeBase58 returns the bytes of a text. It refuses other characters, impossible lengths and blocks whose number does not fit, so
// that bytes have exactly one text.
func decodeBase58(text string) ([]byte, error) {
	var data []byte
	for len(text) > 0 {
		n := min(len(text), encodedBlockSize)
		block, err := decodeBlock(text[:n])
		if err != nil {
			return nil, err
		}
		data = append(data, block...)
		text = text[n:]
	}
	return data, nil
}

// decodeBlock decodes the characters of one block.
func decodeBlock(text string) ([]byte, error) {
	size := -1
	for bytes, characters := range encodedSizes {
		if characters == len(text) {
			size = bytes
		}
	}
	if size < 0 {
		return nil, errBase58
	}
	var n uint64
	for i := range len(text) {
		digit := strings.IndexByte(alphabet, text[i])
		high, low := bits.Mul64(n, uint64(len(alphabet)))
		sum, carry := bits.Add64(low, uint64(max(digit, 0)), 0)
		if digit < 0 || high != 0 || carry != 0 {
			return nil, errBase58
		}
		n = sum
	}
	if size < blockSize && n>>(8*size) != 0 {
		return nil, errBase58
	}
	return binary.BigEndian.AppendUint64(nil, n)[blockSize-size:], nil
}
