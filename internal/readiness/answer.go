// Package readiness serves and reads /readyz, which reports whether a server is ready to take invoices.
package readiness

import (
	"time"

	"chequer/internal/chain"
)

// Answer is the answer of /readyz. The program is ready if its storage accepts writes; the state
// of the networks is additional information.
type Answer struct {
	Ready    bool      `json:"ready"`
	Networks []Network `json:"networks"`
	// Proof is the answer to the challenge of the request, if it has one. With it, doctor checks
	// whether the public address leads to this installation.
	Proof string `json:"proof,omitempty"`
}

// Network is the state of a network and its source.
type Network struct {
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
const redactedFault = "chequer doctor shows the fault"

// redacted returns the states without what only the operator may see: the Lightning networks, which are the connections of
// the shops, and the sources and faults of the others.
func redacted(networks []Network) []Network {
	public := []Network{}
	for _, n := range networks {
		if n.Network.IsLightning() {
			continue
		}
		n.Source = ""
		if n.Fault != "" {
			n.Fault = redactedFault
		}
		public = append(public, n)
	}
	return public
}
