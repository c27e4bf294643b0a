package monero

import (
	"errors"
	"strings"
	"testing"
)

func TestParseBlock(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]Block{
		blockFile: {
			Version: 16, Timestamp: 1796085368, Previous: bytes32(t, "cf1209a4f03344dfedd29370fa1e41a6f46edf778d1573a325706b600368d37f"),
			Coinbase:     &Transaction{Height: 91, UnlockTime: 151},
			Transactions: make([]Hash, 6),
		},
		"testdata/block_mainnet.json": { // block 1c68300646dda11a89cc9ca4001100745fcbd192e0e6efb6b06bd4d25851662b
			Version: 14, Timestamp: 1612331134, Previous: bytes32(t, "6d78ace422007a2cefb423553b39f8b58f6067698eac8162b25732d0b99988d3"),
			Coinbase:     &Transaction{Height: 2288515, UnlockTime: 2288575},
			Transactions: make([]Hash, 17),
		},
	} {
		got, err := ParseBlock([]byte(read(t, path)))
		if err != nil {
			t.Fatal(err)
		}
		if got.Version != want.Version || got.Timestamp != want.Timestamp || got.Previous != want.Previous || got.Height() != want.Height() ||
			len(got.Transactions) != len(want.Transactions) || got.Coinbase.UnlockTime != want.Coinbase.UnlockTime || !got.Coinbase.Coinbase {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
	}
	got, err := ParseBlock([]byte(read(t, blockFile)))
	if err != nil || got.Transactions[0].String() != "7a50adb334c79007cc73ad51f2e4156a50cc8e19e05c842ec5ef437f8d8ce15c" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestParseBlock_refuses(t *testing.T) {
	t.Parallel()
	good := read(t, blockFile)
	for name, tt := range map[string]struct {
		text, old, replacement string
		want                   error
	}{
		"nothing":                   {"", "", "", ErrMalformed},
		"null":                      {"null", "", "", ErrMalformed},
		"a_large_text":              {good + strings.Repeat(" ", maxBlockJSON), "", "", ErrMalformed},
		"hard_fork_17":              {good, `"major_version": 16`, `"major_version": 17`, ErrNewerFormat},
		"no_version":                {good, `"major_version"`, `"a"`, ErrMalformed},
		"no_timestamp":              {good, `"timestamp"`, `"a"`, ErrMalformed},
		"no_previous_block":         {good, `"prev_id"`, `"a"`, ErrMalformed},
		"no_coinbase":               {good, `"miner_tx"`, `"a"`, ErrMalformed},
		"another_coinbase":          {good, `"gen"`, `"new"`, ErrNewerFormat},
		"an_unknown_output":         {good, `"tagged_key"`, `"carrot_v1"`, ErrNewerFormat},
		"a_transaction_as_coinbase": {good, `"miner_tx": {`, `"miner_tx": ` + read(t, transactionFile) + `, "a": {`, ErrMalformed},
		"a_null_hash":               {good, `"tx_hashes": [`, `"tx_hashes": [null,`, ErrMalformed},
		"a_short_hash":              {good, `"tx_hashes": [`, `"tx_hashes": ["00",`, ErrMalformed},
		"many_hashes":               {good, `"tx_hashes": [`, `"tx_hashes": [` + strings.Repeat("null,", maxTransactions), ErrMalformed},
	} {
		if strings.Count(tt.text, tt.old) == 0 {
			t.Errorf("%s: %q is not in the text", name, tt.old)
		}
		got, err := ParseBlock([]byte(strings.Replace(tt.text, tt.old, tt.replacement, 1)))
		if !errors.Is(err, tt.want) || got != nil {
			t.Errorf("%s: got %+v, %v, want %v", name, got, err, tt.want)
		}
	}
}

func FuzzParseBlock(f *testing.F) {
	f.Add([]byte(read(f, blockFile)))
	f.Add([]byte(read(f, "testdata/block_mainnet.json")))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ParseBlock(text)
		if (b == nil) != (err != nil) || b != nil && (b.Version > MaxBlockVersion || !b.Coinbase.Coinbase) {
			t.Errorf("got %+v, %v", b, err)
		}
	})
}
