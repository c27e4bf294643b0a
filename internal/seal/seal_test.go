package seal_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"chequer/internal/seal"
)

func newBox(t *testing.T, b byte) *seal.Box {
	t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{b}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func TestNew_refuses_keys_of_another_size(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 16, 31, 33} {
		if _, err := seal.New(make([]byte, size)); !errors.Is(err, seal.ErrKeySize) {
			t.Errorf("New(%d bytes): got error %v, want %v", size, err, seal.ErrKeySize)
		}
	}
}

func TestOpen_returns_the_sealed_text(t *testing.T) {
	t.Parallel()
	box := newBox(t, 1)
	for _, plain := range []string{"", "secret", strings.Repeat("secret", 100)} {
		sealed := box.Seal("api key 1", []byte(plain))
		got, err := newBox(t, 1).Open("api key 1", sealed)
		if err != nil || string(got) != plain {
			t.Errorf("Open(Seal(%q)): got %q, %v", plain, got, err)
		}
		if plain != "" && strings.Contains(sealed, plain) {
			t.Errorf("Seal(%q) contains the plain text: %q", plain, sealed)
		}
	}
}

func TestSeal_never_makes_the_same_text_twice(t *testing.T) {
	t.Parallel()
	box := newBox(t, 1)
	if a, b := box.Seal("p", []byte("x")), box.Seal("p", []byte("x")); a == b {
		t.Errorf("got %q twice", a)
	}
}

func TestOpen_refuses_other_texts_and_keys(t *testing.T) {
	t.Parallel()
	box := newBox(t, 1)
	sealed := box.Seal("api key 1", []byte("secret"))
	last := "A"
	if strings.HasSuffix(sealed, "A") {
		last = "Q"
	}
	tests := map[string]struct {
		box     *seal.Box
		purpose string
		sealed  string
	}{
		"another_master_key": {newBox(t, 2), "api key 1", sealed},
		"another_purpose":    {box, "api key 2", sealed},
		"a_changed_text":     {box, "api key 1", sealed[:len(sealed)-1] + last},
		"a_cut_text":         {box, "api key 1", sealed[:20]},
		"an_unsealed_text":   {box, "api key 1", "secret"},
		"nothing":            {box, "api key 1", ""},
		"the_version_alone":  {box, "api key 1", "v1."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := test.box.Open(test.purpose, test.sealed); !errors.Is(err, seal.ErrNotSealed) {
				t.Errorf("got %q, error %v, want %v", got, err, seal.ErrNotSealed)
			}
		})
	}
}

func TestCheck_accepts_only_the_MAC_of_the_same_fields(t *testing.T) {
	t.Parallel()
	box := newBox(t, 1)
	mac := box.MAC("wallet", "ab", "c")
	tests := map[string]struct {
		box     *seal.Box
		purpose string
		fields  []string
		want    bool
	}{
		"accepts_the_same_fields":                 {box, "wallet", []string{"ab", "c"}, true},
		"refuses_fields_cut_elsewhere":            {box, "wallet", []string{"a", "bc"}, false},
		"refuses_another_order":                   {box, "wallet", []string{"c", "ab"}, false},
		"refuses_a_field_more":                    {box, "wallet", []string{"ab", "c", ""}, false},
		"refuses_a_field_less":                    {box, "wallet", []string{"ab"}, false},
		"refuses_another_purpose":                 {box, "api key", []string{"ab", "c"}, false},
		"refuses_a_purpose_joined_with_the_field": {box, "walletab", []string{"c"}, false},
		"refuses_another_master_key":              {newBox(t, 2), "wallet", []string{"ab", "c"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.box.Check(mac, test.purpose, test.fields...); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if box.Check("", "wallet", "ab", "c") || box.Check("not base64!", "wallet", "ab", "c") {
		t.Error("an invalid MAC was accepted")
	}
}
