package lnd

import (
	"encoding/hex"
	"testing"
)

func FuzzReadOperations(f *testing.F) {
	for _, text := range []string{"02", "0201036c6e640207030a0207071201301a0000062000", "0201036c6e640208030a0207071201301a", "02ffffffffffffffffff01"} {
		data, _ := hex.DecodeString(text)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, macaroon []byte) {
		list, err := readOperations(macaroon)
		if err == nil && len(list) == 0 {
			t.Errorf("readOperations(%x) returns no operation and no error", macaroon)
		}
	})
}
