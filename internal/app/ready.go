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

// readiness is what /readyz answers: the program is ready when its storage takes
// writes. How far each network was scanned are facts beside it.
type readiness struct {
	Ready    bool            `json:"ready"`
	Networks []NetworkHealth `json:"networks"`
	// Proof answers the challenge of the request, if it has one: doctor learns by it
	// whether the public address leads to this installation.
	Proof string `json:"proof,omitempty"`
}

// maxChallenge bounds a challenge, in bytes.
const maxChallenge = 64

// NetworkHealth is how a network is watched.
type NetworkHealth struct {
	Network chain.ID `json:"network"`
	Watched bool     `json:"watched"`
	// Reached reports whether a watched network was scanned recently enough for its
	// methods to be offered.
	Reached bool  `json:"reached"`
	Tip     int64 `json:"tip"`
	// ScannedAgo is in seconds since the last scan that reached the tip; null
	// before there was one.
	ScannedAgo *int64 `json:"scanned_seconds_ago"`
	Source     string `json:"source"`
	// TipTime is the time of the newest scanned block by the network's clock; null
	// before this process scanned one.
	TipTime  *time.Time `json:"tip_time"`
	Height   int64      `json:"source_height"`
	Peers    int        `json:"peers"`
	Progress string     `json:"progress"`
	Fault    string     `json:"fault"`
}

// veiledFault stands for a fault's own words, which name hosts of the operator's.
const veiledFault = "chequer doctor says what"

// readyFor is how long storage may take to answer.
const readyFor = 2 * time.Second

// ready answers /readyz. Who asks with the installation's own pass is told where
// the sources are, too, and their faults in words.
func (c *Core) ready(networks []chain.Network, invoices *invoice.Service, m *metrics) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyFor)
		defer cancel()
		err := c.Storage.Ready(ctx)
		health, fault := c.health(ctx, networks, invoices)
		err = cmp.Or(err, fault)
		for i := range health {
			health[i].TipTime = m.tipTime(health[i].Network)
		}
		if !c.passes(r) {
			for i := range health {
				health[i].veil()
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

// veil takes out what is nobody's business but the operator's.
func (h *NetworkHealth) veil() {
	h.Source = ""
	if h.Fault != "" {
		h.Fault = veiledFault
	}
}

// passes tells whether who asks has the master key, as the operator's commands do.
func (c *Core) passes(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+c.pass)) == 1
}

// health returns how each network is watched, in the order given.
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
