package merchant_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/merchant"
)

func TestKey_May_reports_only_its_scopes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		scopes []merchant.Scope
		may    []merchant.Scope
	}{
		"none":                     {nil, nil},
		"one":                      {[]merchant.Scope{merchant.ScopeRead}, []merchant.Scope{merchant.ScopeRead}},
		"two":                      {[]merchant.Scope{merchant.ScopePage, merchant.ScopeCreate}, []merchant.Scope{merchant.ScopeCreate, merchant.ScopePage}},
		"admin has no other scope": {[]merchant.Scope{merchant.ScopeAdmin}, []merchant.Scope{merchant.ScopeAdmin}},
		"all":                      {merchant.AllScopes, merchant.AllScopes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := map[merchant.Scope]bool{}
			for _, scope := range tt.may {
				want[scope] = true
			}
			k := merchant.Key{Scopes: tt.scopes}
			for _, scope := range append([]merchant.Scope{"", "Admin"}, merchant.AllScopes...) {
				if got := k.May(scope); got != want[scope] {
					t.Errorf("key with %v may %q = %v", tt.scopes, scope, got)
				}
			}
		})
	}
}

// keyring stores keys and counts its reads. Methods that the tests do not need are missing.
type keyring struct {
	merchant.Storage
	keys  map[string]merchant.Key
	reads int
	asked []string // the public parts that were looked up
	uses  []time.Time
}

func (s *keyring) Key(_ context.Context, key string) (merchant.Key, error) {
	s.reads++
	s.asked = append(s.asked, key)
	k, known := s.keys[key]
	if !known {
		return k, merchant.ErrNotFound
	}
	return k, nil
}

func (s *keyring) CreateKey(_ context.Context, k merchant.Key) error { return create(s.keys, k.Key, k) }

func (s *keyring) UseKey(_ context.Context, _ string, at time.Time) error {
	s.uses = append(s.uses, at)
	return nil
}

func (s *keyring) Keys(_ context.Context, merchantID string) (all []merchant.Key, err error) {
	for _, k := range s.keys {
		if k.MerchantID == merchantID {
			all = append(all, k)
		}
	}
	return all, nil
}

func (s *keyring) RevokeKey(_ context.Context, merchantID, key string, at time.Time) error {
	k, known := s.keys[key]
	if !known || k.MerchantID != merchantID {
		return merchant.ErrNotFound
	}
	k.RevokedAt = at
	s.keys[key] = k
	return nil
}

func newKeyring() (*keyring, *merchant.Service, *time.Time) {
	s, at := &keyring{keys: map[string]merchant.Key{}}, noon
	return s, merchant.NewService(s, func() time.Time { return at }, tokens()), &at
}

func TestAuthenticate_reads_a_cached_key_again_after_a_second(t *testing.T) {
	t.Parallel()
	stored, service, at := newKeyring()
	k, err := service.CreateKey(t.Context(), "shop", merchant.Live, []merchant.Scope{merchant.ScopeCreate}, "Webshop")
	if err != nil || len(k.Key) != 32 || len(k.Secret) != 40 || k.Label != "Webshop" {
		t.Fatalf("CreateKey = %+v, %v", k, err)
	}
	find := func() bool {
		t.Helper()
		found, err := service.Authenticate(t.Context(), k.Key)
		if err != nil || found.Secret != k.Secret {
			t.Fatalf("Authenticate = %+v, %v", found, err)
		}
		return found.RevokedAt.IsZero()
	}
	find()
	revoked := k
	revoked.RevokedAt = noon
	stored.keys[k.Key] = revoked
	*at = noon.Add(time.Second - 1)
	if !find() || stored.reads != 1 {
		t.Errorf("after less than a second the key is revoked, or was read %d times", stored.reads)
	}
	*at = noon.Add(time.Second)
	if find() {
		t.Error("after a second the key is not revoked")
	}
	*at = noon.Add(-time.Hour) // the clock was set back: the age of the cached key is negative, so it is read again
	find()
	if stored.reads != 3 {
		t.Errorf("the key was read %d times, want 3", stored.reads)
	}
	if _, err := service.Authenticate(t.Context(), "none"); !errors.Is(err, merchant.ErrNotFound) {
		t.Errorf("unknown key: %v", err)
	}
}

func TestService_builtin_keys_are_not_stored(t *testing.T) {
	t.Parallel()
	stored, service, _ := newKeyring()
	k := service.NewBuiltinKey("shop", merchant.Live, merchant.ScopePage)
	found, err := service.Authenticate(t.Context(), k.Key)
	if err != nil || !found.Builtin || !found.May(merchant.ScopePage) || found.May(merchant.ScopeAdmin) || len(stored.keys) > 0 || stored.reads > 0 {
		t.Errorf("Authenticate = %+v, %v; stored %d keys, read %d", found, err, len(stored.keys), stored.reads)
	}
	if err := service.UseKey(t.Context(), found); err != nil || len(stored.uses) > 0 {
		t.Errorf("the use is stored: %v, %v", stored.uses, err)
	}
}

func TestService_stores_one_use_per_minute(t *testing.T) {
	t.Parallel()
	stored, service, at := newKeyring()
	for _, after := range []time.Duration{0, time.Second, time.Minute - 1, time.Minute, time.Minute + time.Second, -time.Hour} {
		*at = noon.Add(after)
		if err := service.UseKey(t.Context(), merchant.Key{ID: "key_1"}); err != nil {
			t.Fatal(err)
		}
	}
	want := []time.Time{noon, noon.Add(time.Minute), noon.Add(-time.Hour)}
	if len(stored.uses) != len(want) {
		t.Fatalf("stored uses %v, want %v", stored.uses, want)
	}
	for i, at := range want {
		if !stored.uses[i].Equal(at) {
			t.Errorf("stored uses %v, want %v", stored.uses, want)
		}
	}
}

func TestService_revokes_only_keys_of_the_merchant(t *testing.T) {
	t.Parallel()
	_, service, _ := newKeyring()
	k, err := service.CreateKey(t.Context(), "shop", merchant.Live, merchant.AllScopes, "")
	if err != nil {
		t.Fatal(err)
	}
	if all, err := service.Keys(t.Context(), "shop"); err != nil || len(all) != 1 || all[0].Key != k.Key || all[0].Secret != "" {
		t.Errorf("Keys = %+v, %v, want the key without its secret", all, err)
	}
	revoked := func() bool {
		t.Helper()
		found, err := service.Authenticate(t.Context(), k.Key)
		if err != nil {
			t.Fatal(err)
		}
		return !found.RevokedAt.IsZero()
	}
	if err := service.RevokeKey(t.Context(), "other", k.Key); !errors.Is(err, merchant.ErrNotFound) || revoked() {
		t.Errorf("RevokeKey of another merchant's key: %v", err)
	}
	if err := service.RevokeKey(t.Context(), "shop", k.Key); err != nil {
		t.Fatalf("RevokeKey: %v", err)
	}
	if !revoked() {
		t.Error("the service still returns the key as not revoked")
	}
}

func TestService_refuses_keys_that_break_a_rule(t *testing.T) {
	t.Parallel()
	stored, service, _ := newKeyring()
	for name, tt := range map[string]struct {
		scopes []merchant.Scope
		label  string
		want   string
	}{
		"long":      {merchant.AllScopes, strings.Repeat("ä", merchant.MaxLabel+1), "label must have at most 64 characters"},
		"two lines": {merchant.AllScopes, "a\nb", "label must not contain the invisible character U+000A"},
		"no scope":  {nil, "", "scopes must not be empty"},
	} {
		_, err := service.CreateKey(t.Context(), "shop", merchant.Live, tt.scopes, tt.label)
		if wrong, ok := errors.AsType[*merchant.FieldError](err); !ok || wrong.Error() != tt.want {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, err := service.CreateKey(t.Context(), "shop", merchant.Live, merchant.AllScopes, strings.Repeat("ä", merchant.MaxLabel)); err != nil || len(stored.keys) != 1 {
		t.Errorf("the longest label: %v, stored %d keys, want 1", err, len(stored.keys))
	}
}

func TestParseScopes_refuses_unknown_and_missing_names(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		names string
		want  []merchant.Scope
		fault string
	}{
		{"read create read", []merchant.Scope{merchant.ScopeRead, merchant.ScopeCreate}, ""},
		{"read cook", nil, `must be create, read, page, link or admin, not "cook"`},
		{"", nil, "must not be empty"},
	} {
		got, err := merchant.ParseScopes(strings.Fields(tt.names))
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if !slices.Equal(got, tt.want) || fault != tt.fault {
			t.Errorf("ParseScopes(%q) = %v, %q, want %v, %q", tt.names, got, fault, tt.want, tt.fault)
		}
	}
}
