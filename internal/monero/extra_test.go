package monero

import (
	"bytes"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// filled returns 32 bytes with one value.
func filled(value byte) (k PublicKey) {
	for i := range k {
		k[i] = value
	}
	return k
}

func TestReadExtra(t *testing.T) {
	t.Parallel()
	a, b, c := filled(0xaa), filled(0xbb), filled(0xcc)
	key := func(k PublicKey) []byte { return append([]byte{tagKey}, k[:]...) }
	merge := slices.Concat([]byte{tagMergeMining, 33, 0}, c[:])
	list := slices.Concat([]byte{tagAdditionalKeys, 2}, b[:], c[:])
	long := append([]byte{tagNonce, 0x80, 0x02}, make([]byte, 256)...)
	for name, tt := range map[string]struct {
		extra []byte
		want  extraKeys
	}{
		"nothing":                         {nil, extraKeys{}},
		"a_key":                           {key(a), extraKeys{transaction: []PublicKey{a}}},
		"a_key_cut_off":                   {key(a)[:32], extraKeys{}},
		"two_keys":                        {slices.Concat(key(a), key(b)), extraKeys{transaction: []PublicKey{a, b}}},
		"a_nonce_before_a_key":            {slices.Concat([]byte{tagNonce, 9, 1}, make([]byte, 8), key(a)), extraKeys{transaction: []PublicKey{a}}},
		"an_empty_nonce":                  {slices.Concat([]byte{tagNonce, 0}, key(a)), extraKeys{transaction: []PublicKey{a}}},
		"a_nonce_of_255_bytes":            {slices.Concat([]byte{tagNonce, 0xff, 0x01}, make([]byte, 255), key(a)), extraKeys{transaction: []PublicKey{a}}},
		"a_nonce_too_long":                {slices.Concat(key(a), long, key(b)), extraKeys{transaction: []PublicKey{a}}},
		"a_nonce_cut_off":                 {slices.Concat(key(a), []byte{tagNonce, 40}, key(b)), extraKeys{transaction: []PublicKey{a}}},
		"a_length_that_overflows":         {slices.Concat(key(a), []byte{tagNonce}, bytes.Repeat([]byte{0xff}, 10), key(b)), extraKeys{transaction: []PublicKey{a}}},
		"a_length_of_63_bits":             {slices.Concat(key(a), []byte{tagNonce}, bytes.Repeat([]byte{0xff}, 8), []byte{0x7f}, key(b)), extraKeys{transaction: []PublicKey{a}}},
		"a_length_not_shortest":           {slices.Concat(key(a), []byte{tagNonce, 0x81, 0x00, 7}, key(b)), extraKeys{transaction: []PublicKey{a}}},
		"padding_at_the_end":              {slices.Concat(key(a), make([]byte, 20)), extraKeys{transaction: []PublicKey{a}}},
		"a_key_after_padding":             {slices.Concat(key(a), make([]byte, 20), key(b)), extraKeys{transaction: []PublicKey{a}}},
		"merge_mining":                    {slices.Concat(merge, key(a)), extraKeys{transaction: []PublicKey{a}}},
		"merge_mining_too_short":          {slices.Concat(key(a), []byte{tagMergeMining, 1, 0}, key(b)), extraKeys{transaction: []PublicKey{a}}},
		"merge_mining_too_long":           {slices.Concat(key(a), []byte{tagMergeMining, 34, 0}, c[:], []byte{0}, key(b)), extraKeys{transaction: []PublicKey{a}}},
		"minergate":                       {slices.Concat([]byte{tagMinergate, 3, 1, 2, 3}, key(a)), extraKeys{transaction: []PublicKey{a}}},
		"additional_keys":                 {slices.Concat(key(a), list), extraKeys{transaction: []PublicKey{a}, additional: []PublicKey{b, c}}},
		"additional_keys_first":           {slices.Concat(list, key(a)), extraKeys{transaction: []PublicKey{a}, additional: []PublicKey{b, c}}},
		"two_lists":                       {slices.Concat(list, []byte{tagAdditionalKeys, 1}, a[:], key(a)), extraKeys{transaction: []PublicKey{a}, additional: []PublicKey{b, c}}},
		"an_empty_list":                   {slices.Concat(key(a), []byte{tagAdditionalKeys, 0}, list), extraKeys{transaction: []PublicKey{a}, additional: []PublicKey{}}},
		"a_list_cut_off":                  {slices.Concat(key(a), list[:65]), extraKeys{transaction: []PublicKey{a}}},
		"a_list_of_too_many":              {slices.Concat(key(a), []byte{tagAdditionalKeys}, bytes.Repeat([]byte{0xff}, 9), []byte{1}, b[:]), extraKeys{transaction: []PublicKey{a}}},
		"an_unknown_tag":                  {slices.Concat(key(a), []byte{5, 1, 1}, key(b)), extraKeys{transaction: []PublicKey{a}}},
		"a_tag_at_the_end":                {slices.Concat(key(a), []byte{tagNonce}), extraKeys{transaction: []PublicKey{a}}},
		"an_additional_tag_at_the_end":    {slices.Concat(key(a), []byte{tagAdditionalKeys}), extraKeys{transaction: []PublicKey{a}}},
		"a_list_that_overflows_its_bytes": {slices.Concat(key(a), []byte{tagAdditionalKeys, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x08}, b[:]), extraKeys{transaction: []PublicKey{a}}},
	} {
		if diff := gocmp.Diff(tt.want, readExtra(tt.extra), gocmp.AllowUnexported(extraKeys{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := readExtra(bytes.Repeat(key(a), 2*maxKeys)); len(got.transaction) != maxKeys {
		t.Errorf("%d keys, want %d", len(got.transaction), maxKeys)
	}
}

// FuzzReadExtra checks that every key is in the bytes, in order.
func FuzzReadExtra(f *testing.F) {
	a := filled(0xaa)
	f.Add(append([]byte{tagKey}, a[:]...))
	f.Add(slices.Concat([]byte{tagAdditionalKeys, 1}, a[:], []byte{tagNonce, 1, 1}, []byte{tagMergeMining, 33, 0}, a[:], []byte{tagMinergate, 0, 0}))
	f.Fuzz(func(t *testing.T, extra []byte) {
		got := readExtra(extra)
		if n := 33 * len(got.transaction); n > len(extra) || 32*len(got.additional) > len(extra)-n {
			t.Errorf("%d and %d keys in %d bytes", len(got.transaction), len(got.additional), len(extra))
		}
		rest := extra
		for _, key := range got.transaction {
			at := bytes.Index(rest, key[:])
			if at < 0 {
				t.Fatalf("%s is not in %x", key, extra)
			}
			rest = rest[at+len(key):]
		}
	})
}
