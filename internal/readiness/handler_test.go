package readiness_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/invoice"
	"chequer/internal/readiness"
	"chequer/internal/seal"
	"chequer/internal/storage/storagetest"
)

func TestHandler_shows_connections_only_to_the_operator(t *testing.T) {
	t.Parallel()
	box, err := seal.New(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	identity := readiness.NewIdentity(box)
	handler := readiness.Handler(readiness.Config{
		Storage: storagetest.SQLite(t), Identity: identity, Now: time.Now,
		Networks: func() []chain.Network {
			return []chain.Network{lightning.NewNetwork(lightning.NetworkConfig{ID: "lightning-wlt_1", Name: "anna@pay.example", Now: time.Now})}
		},
		Reached: func(chain.ID, map[chain.ID]invoice.Progress) bool { return true },
		TipTime: func(chain.ID) *time.Time { return nil },
	})
	for pass, want := range map[string]bool{"": false, identity.Pass: true} {
		request := httptest.NewRequest(http.MethodGet, "/readyz", nil)
		request.Header.Set("Authorization", "Bearer "+pass)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if got := strings.Contains(answer.Body.String(), "wlt_1"); answer.Code != http.StatusOK || got != want {
			t.Errorf("with the pass %q: %d %s, connection shown %t, want %t", pass, answer.Code, answer.Body, got, want)
		}
	}
}
