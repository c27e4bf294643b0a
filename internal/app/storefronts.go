package app

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"sync"

	"chequer/internal/client"
	"chequer/internal/merchant"
	"chequer/internal/token"
	"chequer/web"
)

// storefronts finds the shops whose pages the server shows. Each shop has a client of the service with its own
// key, which is never stored.
type storefronts struct {
	*domain
	service http.Handler
	baseURL string
	mode    merchant.Mode

	mu      sync.Mutex
	clients map[string]*client.Client // by merchant ID
}

// shopID matches the ID of every merchant.
var shopID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// find returns the shop with an ID, or the shop at the root if id is "". It returns web.ErrNoShop for an unknown ID.
func (s *storefronts) find(ctx context.Context, id string) (web.Shop, error) {
	if id == "" {
		id = s.shop.ID
	}
	if !shopID.MatchString(id) {
		return web.Shop{}, web.ErrNoShop
	}
	limited, cancel := context.WithTimeout(ctx, settingsReadTimeout)
	defer cancel()
	m, err := s.Merchants.Merchant(limited, id)
	if errors.Is(err, merchant.ErrNotFound) {
		return web.Shop{}, web.ErrNoShop
	}
	if err != nil {
		return web.Shop{}, err
	}
	cl, err := s.client(id)
	return web.Shop{ID: id, Name: m.Name, Client: cl}, err
}

// client returns the client of a merchant, which it creates with a new key at the first call.
func (s *storefronts) client(merchantID string) (*client.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cl := s.clients[merchantID]; cl != nil {
		return cl, nil
	}
	key := s.Merchants.NewBuiltinKey(merchantID, s.mode, merchant.ScopeCreate, merchant.ScopePage)
	cl, err := client.New(client.Config{
		BaseURL: s.baseURL, Key: key.Key, Secret: key.Secret, Transport: client.InProcess(s.service),
		Now: s.Now, NewNonce: func() string { return token.New(32) },
	})
	if err == nil {
		s.clients[merchantID] = cl
	}
	return cl, err
}
