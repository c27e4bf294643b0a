package server_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/audit"
	"chequer/internal/merchant"
)

// The actor of a change is the API key that signed the call, named by its label or else its public part.
// For the built-in key the actor is the system.
func TestActor_is_the_key_of_a_call(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	s := f.useStorage()
	changeTheme := func(id string, edit func(*merchant.Key)) audit.Actor {
		t.Helper()
		k := f.merchants.keys[publicKey("live")]
		k.ID, k.Key, k.Secret = id, publicKey(id), "secret of "+id
		edit(&k)
		f.merchants.keys[k.Key] = k
		body := `{"line":"by ` + id + `"}`
		if response := f.send(themeCall("PUT", id, body)); response.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d, want 200: %s", id, response.StatusCode, read(t, response))
		}
		entries, err := s.AuditLog(t.Context(), 0, 1)
		if err != nil || len(entries) != 1 || entries[0].Change.Action != "theme.changed" || entries[0].Change.After["line"] != "by "+id {
			t.Fatalf("%s: newest entry %+v, error %v", id, entries, err)
		}
		return entries[0].Actor
	}
	got := []audit.Actor{
		changeTheme("plain", func(*merchant.Key) {}),
		changeTheme("labelled", func(k *merchant.Key) { k.Label = "web shop" }),
		changeTheme("builtin", func(k *merchant.Key) { k.Builtin = true }),
	}
	want := []audit.Actor{
		{Kind: audit.Key, ID: "plain", Name: publicKey("plain"), Address: "192.0.2.1"},
		{Kind: audit.Key, ID: "labelled", Name: "web shop", Address: "192.0.2.1"},
		{Kind: audit.System},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := s.VerifyAuditLog(t.Context()); err != nil {
		t.Error(err)
	}
}
