package doctor

import (
	"context"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/merchant"
	"chequer/internal/networks"
	"chequer/internal/readiness"
)

// probeTimeout bounds the time to wait for a node or a server.
const probeTimeout = 5 * time.Second

// examineNetworks reports the state of each network of the wallets.
func (e *examination) examineNetworks(ctx context.Context, all []networks.Network, wallets []merchant.Wallet, running readiness.Answer, answers bool) {
	for _, n := range all {
		used := slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == n.Wallet() })
		if !used {
			continue
		}
		about := "network " + string(n.ID())
		if !n.Watched() {
			switch {
			case bool(e.Settings.Unwatched):
				e.warn(about, "is offered and not watched: check each payment in your own wallet")
			case someWatched(all, wallets): // the operator may have chosen this
				e.warn(about, "%s", n.Unwatched())
			default:
				e.fail(about, "%s", n.Unwatched())
			}
			continue
		}
		if n.Probe != nil {
			err := probe(ctx, n)
			e.examineEVM(n, about+", ")
			if err != nil {
				e.fail(about, "%s", err)
				continue
			}
		}
		i := slices.IndexFunc(running.Networks, func(h readiness.Network) bool { return h.Network == n.ID() })
		if i < 0 {
			e.warn(about, "%s", e.notRunning(answers))
			continue
		}
		e.reportHealth(running.Networks[i], about)
		e.reportBlockTime(running.Networks[i], n.Wallet(), about)
	}
}

// someWatched reports whether any wallet can be paid on a watched network.
func someWatched(all []networks.Network, wallets []merchant.Wallet) bool {
	return slices.ContainsFunc(all, func(n networks.Network) bool {
		return n.Watched() && slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == n.Wallet() })
	})
}

// notRunning returns the finding for a network whose scans are unknown, because the running server
// does not report them.
func (e *examination) notRunning(answers bool) string {
	if answers {
		return "is not watched by the running server: start it again with these settings"
	}
	return "is watched while chequer serve runs; nothing answers on " + e.Settings.Listen + " now"
}

// reportHealth reports the newest scan and the source of a network in the running server.
func (e *examination) reportHealth(h readiness.Network, about string) {
	scanned := "not scanned yet"
	if h.ScannedAgo != nil {
		scanned = "scanned to block " + chain.Grouped(h.Tip) + ", " + (time.Duration(*h.ScannedAgo) * time.Second).String() + " ago"
	}
	source := h.Source
	if h.Peers > 0 {
		source += ", " + chain.Plural(h.Peers, "peer")
	}
	if !h.Reached {
		scanned += ", so its payment methods are not offered now"
	}
	switch {
	case h.Fault != "":
		e.warn(about, "%s; %s: %s", scanned, source, h.Fault)
	case h.Progress != "":
		e.warn(about, "%s; %s: %s", scanned, source, h.Progress)
	case h.ScannedAgo == nil || *h.ScannedAgo > int64(maxScanSilence.Seconds()):
		e.warn(about, "%s; %s", scanned, source)
	default:
		e.ok(about, "%s; %s", scanned, source)
	}
}

// maxScanSilence is the age of the last scan from which the doctor warns.
const maxScanSilence = 2 * time.Minute

// probe queries a network's source once.
func probe(ctx context.Context, n networks.Network) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return n.Probe(ctx)
}
