package nwc

import (
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
)

// published is an event that another program made and signed.
const published = `{"id":"dc90c95f09947507c1044e8f48bcf6350aa6bff1507dd4acfc755b9239b5c962","pubkey":"3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d","created_at":1644271588,"kind":1,"tags":[],"content":"now that https://blueskyweb.org/blog/2-7-2022-overview was announced we can stop working on nostr?","sig":"230e9d8f0ddaf7eb70b5f7741ccfa37e87a455c9a469282e3464e2052d3192cd63a167e196e381ef9d7e69e9ea43af2443b839974dc85d8aaab9efe1d9296524"}`

func TestVerify_accepts_an_event_of_another_program(t *testing.T) {
	t.Parallel()
	var e event
	if err := json.Unmarshal([]byte(published), &e); err != nil {
		t.Fatal(err)
	}
	if err := e.verify(); err != nil {
		t.Errorf("verify() = %v", err)
	}
}

func TestVerify_refuses_changed_events(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(e *event){
		"content":             func(e *event) { e.Content += " " },
		"time":                func(e *event) { e.CreatedAt++ },
		"kind":                func(e *event) { e.Kind = kindReply },
		"tags":                func(e *event) { e.Tags = [][]string{{"p"}} },
		"author":              func(e *event) { e.Author = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798" },
		"not a key":           func(e *event) { e.Author = "zz" },
		"ID":                  func(e *event) { e.ID = e.Author },
		"signature":           func(e *event) { e.Signature = e.ID + e.ID },
		"not a signature":     func(e *event) { e.Signature = "00" },
		"content with its ID": func(e *event) { e.Content = "x"; h := e.hash(); e.ID = hex.EncodeToString(h[:]) },
	} {
		var e event
		if err := json.Unmarshal([]byte(published), &e); err != nil {
			t.Fatal(err)
		}
		if change(&e); e.verify() == nil {
			t.Errorf("%s: the event is accepted", name)
		}
	}
}

// The escapes are those of NIP-01 and of JSON.stringify of other programs.
func TestHash_escapes_as_NIP_01(t *testing.T) {
	t.Parallel()
	got := string(appendText(nil, "a\"\\\n\r\t\b\f\x01\x1f<&>\u2028é/\x7f"))
	if want := `"a\"\\\n\r\t\b\f\u0001\u001f<&>` + "\u2028é/\x7f" + `"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSign_makes_valid_events(t *testing.T) {
	t.Parallel()
	key, err := btcec.NewPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	e := event{CreatedAt: 1_790_000_000, Kind: kindRequest, Tags: [][]string{{"p", "x"}, {"a", "\"", "\u2028"}}, Content: "\x00\n"}
	if err := e.sign(key); err != nil {
		t.Fatal(err)
	}
	if err := e.verify(); err != nil || e.tag("a") != `"` || e.tag("b") != "" {
		t.Errorf("verify() = %v, tag a %q", err, e.tag("a"))
	}
}
