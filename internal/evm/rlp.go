package evm

import (
	"errors"
	"fmt"
	"math/big"
)

// errRLP means that bytes are not the canonical encoding of a value. See the Ethereum yellow paper, appendix B.
var errRLP = errors.New("not canonical RLP")

// The first bytes of RLP encodings, and the longest content whose length is in the first byte.
const (
	rlpString  = 0x80
	rlpList    = 0xc0
	rlpInPlace = 55
)

// appendRLP appends the encoding of a string.
func appendRLP(data, content []byte) []byte {
	if len(content) == 1 && content[0] < rlpString {
		return append(data, content[0])
	}
	return append(appendHeader(data, rlpString, len(content)), content...)
}

// encodeList returns the encoding of a list whose items are encoded.
func encodeList(items []byte) []byte {
	return append(appendHeader(nil, rlpList, len(items)), items...)
}

// appendHeader appends the first byte of a string or a list, and its length.
func appendHeader(data []byte, first byte, length int) []byte {
	if length <= rlpInPlace {
		return append(data, first+byte(length))
	}
	size := big.NewInt(int64(length)).Bytes()
	return append(append(data, first+rlpInPlace+byte(len(size))), size...)
}

// splitRLP returns the content of the first value of data and the rest.
func splitRLP(data []byte) (isList bool, content, rest []byte, err error) {
	if len(data) == 0 {
		return false, nil, nil, fmt.Errorf("%w: a value is missing", errRLP)
	}
	first := data[0]
	if first < rlpString {
		return false, data[:1], data[1:], nil
	}
	kind := byte(rlpString)
	if first >= rlpList {
		kind = rlpList
	}
	length, header := int(first-kind), 1
	if length > rlpInPlace {
		size := length - rlpInPlace
		if size > 4 || len(data) < 1+size || data[1] == 0 {
			return false, nil, nil, fmt.Errorf("%w: a length is wrong", errRLP)
		}
		length, header = int(new(big.Int).SetBytes(data[1:1+size]).Int64()), 1+size
		if length <= rlpInPlace {
			return false, nil, nil, fmt.Errorf("%w: a length is not the shortest", errRLP)
		}
	}
	if length > len(data)-header {
		return false, nil, nil, fmt.Errorf("%w: a value is cut off", errRLP)
	}
	content, rest = data[header:header+length], data[header+length:]
	if kind == rlpString && length == 1 && content[0] < rlpString {
		return false, nil, nil, fmt.Errorf("%w: a byte is not the shortest", errRLP)
	}
	return kind == rlpList, content, rest, nil
}
