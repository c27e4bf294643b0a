package app

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// readiness is the answer of /readyz. The program is ready if its storage accepts writes; the state
// of the networks is additional information.
type readiness struct {
	Ready    bool            `json:"ready"`
	Networks []NetworkHealth `json:"networks"`
	// Proof answers the challenge of the request, if it has one. By it doctor checks whether the
	// public address leads to this installation.
	Proof string `json:"proof,omitempty"`
}

// maxChallenge bounds the length of a challenge, in bytes.
const maxChallenge = 64

// NetworkHealth is the state of a network and its source.
type NetworkHealth struct {
	Network chain.ID `json:"network"`
	Watched bool     `json:"watched"`
	// Reached is true if a watched network was scanned recently enough for its methods to be
	// offered.
	Reached bool  `json:"reached"`
	Tip     int64 `json:"tip"`
	// ScannedAgo is the number of seconds since the last scan that reached the tip; null if there
	// was none.
	ScannedAgo *int64 `json:"scanned_seconds_ago"`
	Source     string `json:"source"`
	// TipTime is the time of the newest scanned block by the network's clock; null if this process
	// has scanned none.
	TipTime  *time.Time `json:"tip_time"`
	Height   int64      `json:"source_height"`
	Peers    int        `json:"peers"`
	Progress string     `json:"progress"`
	Fault    string     `json:"fault"`
}

// redactedFault replaces the text of a fault, which names hosts of the operator.
const redactedFault = "chequer doctor says what"

// readyTimeout bounds the time for storage to answer.
const readyTimeout = 2 * time.Second

// ready answers /readyz. The addresses of the sources and the texts of their faults are only in the
// answer to a caller with the installation's own pass.
func (c *Core) ready(networks []chain.Network, invoices *invoice.Service, m *metrics) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		err := c.Storage.Ready(ctx)
		health, fault := c.health(ctx, networks, invoices)
		err = cmp.Or(err, fault)
		for i := range health {
			health[i].TipTime = m.tipTime(health[i].Network)
		}
		if !c.passes(r) {
			for i := range health {
				health[i].redact()
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		answer := readiness{Ready: err == nil, Networks: health}
		if challenge := r.URL.Query().Get("challenge"); challenge != "" && len(challenge) <= maxChallenge {
			answer.Proof = c.prove(challenge)
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
}

// redact removes the values that only the operator may see.
func (h *NetworkHealth) redact() {
	h.Source = ""
	if h.Fault != "" {
		h.Fault = redactedFault
	}
}

// passes reports whether the caller has the installation's pass, as the operator's commands do.
func (c *Core) passes(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+c.pass)) == 1
}

// health returns the state of each network, in the given order.
func (c *Core) health(ctx context.Context, networks []chain.Network, invoices *invoice.Service) ([]NetworkHealth, error) {
	progress, err := c.Storage.Progress(ctx)
	found := []NetworkHealth{}
	for _, n := range networks {
		_, watched := n.(chain.Scanner)
		h := NetworkHealth{Network: n.ID(), Watched: watched, Reached: watched && invoices.Reached(n.ID(), progress)}
		if p, known := progress[n.ID()]; known {
			h.Tip = p.Tip.Height
			if !p.Scanned.IsZero() {
				ago := int64(c.Now().Sub(p.Scanned).Seconds())
				h.ScannedAgo = &ago
			}
		}
		if r, ok := n.(chain.Reporter); ok {
			source := r.Health()
			h.Source, h.Height, h.Peers, h.Progress, h.Fault = source.Source, source.Height, source.Peers, source.Progress, source.Fault
		}
		found = append(found, h)
	}
	return slices.Clip(found), err
}
