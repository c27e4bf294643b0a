package sign

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg"

	"chequer/internal/sweep/plan"
)

func TestWordList_is_that_of_BIP39(t *testing.T) {
	t.Parallel()
	const want = "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda" // of bip-0039/english.txt
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(english))); got != want {
		t.Errorf("SHA-256 = %s, want %s", got, want)
	}
	if got := len(wordList); got != 2048 {
		t.Errorf("there are %d words, want 2048", got)
	}
}

// The vectors are those of github.com/trezor/python-mnemonic, vectors.json, to which BIP 39 refers: entropy, words,
// seed and master key.
func TestSeed_is_that_of_the_vectors(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/bip39_english.json")
	if err != nil {
		t.Fatal(err)
	}
	var list [][4]string
	if err := json.Unmarshal(content, &list); err != nil || len(list) != 24 {
		t.Fatalf("there are %d vectors, %v", len(list), err)
	}
	for _, v := range list {
		seed, err := newSeed([]byte(v[1]), []byte("TREZOR"))
		if err != nil {
			t.Errorf("%s: %v", v[1], err)
			continue
		}
		if got := hex.EncodeToString(seed); got != v[2] {
			t.Errorf("seed of %s = %s, want %s", v[0], got, v[2])
		}
		master, err := newMaster(seed)
		if err != nil {
			t.Fatal(err)
		}
		want, err := hdkeychain.NewKeyFromString(v[3])
		if err != nil {
			t.Fatal(err)
		}
		compareNodes(t, v[0], master, want)
	}
}

// compareNodes compares a key with that of package hdkeychain.
func compareNodes(t *testing.T, name string, got *node, want *hdkeychain.ExtendedKey) {
	t.Helper()
	key, err := want.ECPrivKey()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.private().Serialize(), key.Serialize()) || !bytes.Equal(got.chain[:], want.ChainCode()) {
		t.Errorf("%s: the key or the chain code differs", name)
	}
}

func TestDerive_agrees_with_hdkeychain(t *testing.T) {
	t.Parallel()
	paths := []plan.Path{{}, {0}, {plan.Hardened}, {plan.Hardened + 44, plan.Hardened + 60, plan.Hardened, 0, 17}, {1<<31 - 1, 1<<32 - 1, 5}}
	for i := range 20 {
		seed := sha256.Sum256([]byte{byte(i)})
		master, err := newMaster(seed[:])
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			got, err := (&Wallet{master}).derive(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := hdkeychain.NewMaster(seed[:], &chaincfg.MainNetParams)
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range path {
				if want, err = want.Derive(step); err != nil {
					t.Fatal(err)
				}
			}
			compareNodes(t, path.String(), got, want)
		}
	}
}

func TestOpen_normalises_words_and_passphrase(t *testing.T) {
	t.Parallel()
	const words = "legal winner thank year wave sausage worth useful legal winner thank yellow"
	want, err := newSeed([]byte(words), []byte("Zürich")) // ü as one character
	if err != nil {
		t.Fatal(err)
	}
	for name, phrase := range map[string]string{
		"capital letters": strings.ToUpper(words),
		"white space":     "  " + strings.ReplaceAll(words, " ", "\t \n") + "\r\n",
		"unchanged":       words,
		"full width":      strings.Replace(words, "legal", "ｌegal", 1),
	} {
		got, err := newSeed([]byte(phrase), []byte("Zu\u0308rich")) // u and a combining diaeresis
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the seed is another one, %v", name, err)
		}
	}
	if other, err := newSeed([]byte(words), []byte("Zurich")); err != nil || bytes.Equal(other, want) {
		t.Errorf("another passphrase has the same seed, or %v", err)
	}
}

func TestOpen_refuses_wrong_words(t *testing.T) {
	t.Parallel()
	const words = "legal winner thank year wave sausage worth useful legal winner thank yellow"
	for name, tt := range map[string]struct{ phrase, want string }{
		"a mistyped word":       {strings.Replace(words, "worth", "wroth", 1), "Word 7 is none of the 2,048."},
		"the start of a word":   {strings.Replace(words, "sausage", "saus", 1), "Word 6 is none of the 2,048."},
		"a wrong last word":     {strings.Replace(words, "yellow", "zoo", 1), "The checksum of the words is wrong."},
		"two words exchanged":   {strings.Replace(words, "thank year", "year thank", 1), "The checksum of the words is wrong."},
		"a missing word":        {strings.Replace(words, " yellow", "", 1), "There are 11 words, not 12, 15, 18, 21 or 24."},
		"no words":              {" \n", "There are 0 words, not 12, 15, 18, 21 or 24."},
		"more than 24":          {strings.Repeat("zoo ", 25), "There are 25 words, not 12, 15, 18, 21 or 24."},
		"words of another list": {strings.Replace(words, "legal", "ábaco", 1), "Word 1 is none of the 2,048."},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			if _, err := Open([]byte(tt.phrase), nil); err == nil || err.Error() != tt.want {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

// 12 words have a checksum of 4 bits.
func TestChecksum_accepts_one_last_word_in_16(t *testing.T) {
	t.Parallel()
	accepted := 0
	for _, word := range wordList {
		if checkWords(bytes.Fields([]byte("legal winner thank year wave sausage worth useful legal winner thank "+word))) == nil {
			accepted++
		}
	}
	if accepted != 128 {
		t.Errorf("%d last words are accepted, want 128", accepted)
	}
}

func TestWallet_overwrites_its_key(t *testing.T) {
	t.Parallel()
	w, err := Open([]byte("legal winner thank year wave sausage worth useful legal winner thank yellow"), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if !w.master.key.IsZero() || w.master.chain != [32]byte{} {
		t.Error("the master key is still there")
	}
}
