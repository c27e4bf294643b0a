package readiness

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// timeout bounds the time for storage to answer.
const timeout = 2 * time.Second

// maxChallenge bounds the length of a challenge, in bytes.
const maxChallenge = 64

// Storage reads the state that the server reports.
type Storage interface {
	// Ready returns an error if the storage does not accept writes.
	Ready(ctx context.Context) error
	Progress(ctx context.Context) (map[chain.ID]invoice.Progress, error)
}

// Config holds the dependencies of the handler of /readyz.
type Config struct {
	Storage Storage
	// Networks returns the networks of live invoices; nil if there are none.
	Networks func() []chain.Network
	// Reached reports whether the methods of a network are offered.
	Reached func(network chain.ID, progress map[chain.ID]invoice.Progress) bool
	// TipTime returns the block time of the newest block that this process has scanned on a network;
	// nil if there is none.
	TipTime  func(network chain.ID) *time.Time
	Identity Identity
	Now      func() time.Time
}

// Handler returns the handler of /readyz. The connections of the shops, the addresses of the sources and the texts of their
// faults are only in the answer to a caller with the installation's pass.
func Handler(c Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		err := c.Storage.Ready(ctx)
		networks, stateErr := c.State(ctx)
		err = cmp.Or(err, stateErr)
		if !c.Identity.isAuthenticated(r) {
			networks = redacted(networks)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		answer := Answer{Ready: err == nil, Networks: networks}
		if challenge := r.URL.Query().Get("challenge"); challenge != "" && len(challenge) <= maxChallenge {
			answer.Proof = c.Identity.Prove(challenge)
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
}

// chains returns the networks of live invoices.
func (c Config) chains() []chain.Network {
	if c.Networks == nil {
		return nil
	}
	return c.Networks()
}

// State returns the state of each network, in the order of c.Networks(). It makes no requests to the networks.
func (c Config) State(ctx context.Context) ([]Network, error) {
	progress, err := c.Storage.Progress(ctx)
	networks := []Network{}
	for _, n := range c.chains() {
		_, watched := n.(chain.Scanner)
		h := Network{Network: n.ID(), Watched: watched, Reached: watched && c.Reached(n.ID(), progress)}
		if p, known := progress[n.ID()]; known {
			h.Tip = p.Tip.Height
			if !p.Scanned.IsZero() {
				age := int64(c.Now().Sub(p.Scanned).Seconds())
				h.ScannedAgo = &age
			}
		}
		h.TipTime = c.TipTime(h.Network)
		if r, ok := n.(chain.Reporter); ok {
			source := r.Health()
			h.Source, h.Height, h.Peers, h.Progress, h.Fault = source.Source, source.Height, source.Peers, source.Progress, source.Fault
		}
		networks = append(networks, h)
	}
	return slices.Clip(networks), err
}
