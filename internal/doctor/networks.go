package doctor

import (
	"context"
	"slices"
	"time"

	"chequer/internal/format"
	"chequer/internal/merchant"
	"chequer/internal/networks"
	"chequer/internal/readiness"
)

// probeTimeout bounds the time to wait for a node or a server.
const probeTimeout = 5 * time.Second

// examineNetworks reports the state of each network of the wallets.
func (e *examination) examineNetworks(ctx context.Context, all []networks.Network, wallets []merchant.Wallet, running readiness.Answer, isRunning bool) {
	for _, network := range all {
		hasWallet := slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == network.Wallet() })
		if !hasWallet {
			continue
		}
		subject := "network " + string(network.ID())
		if !network.Watched() {
			switch {
			case bool(e.Settings.Unwatched):
				e.warn(subject, "is offered and not watched: check each payment in your own wallet")
			case someWatched(all, wallets): // the operator may have left this network out on purpose
				e.warn(subject, "%s", network.UnwatchedReason())
			default:
				e.fail(subject, "%s", network.UnwatchedReason())
			}
			continue
		}
		if network.Probe != nil {
			err := probe(ctx, network)
			e.examineEVM(network, subject+", ")
			if err != nil {
				e.fail(subject, "%s", err)
				continue
			}
		}
		i := slices.IndexFunc(running.Networks, func(h readiness.Network) bool { return h.Network == network.ID() })
		if i < 0 {
			e.warn(subject, "%s", e.notScanned(isRunning))
			continue
		}
		e.reportHealth(running.Networks[i], subject)
		e.reportBlockTime(running.Networks[i], network.Wallet(), subject)
	}
}

// someWatched reports whether any wallet can be paid on a watched network.
func someWatched(all []networks.Network, wallets []merchant.Wallet) bool {
	return slices.ContainsFunc(all, func(n networks.Network) bool {
		return n.Watched() && slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == n.Wallet() })
	})
}

// notScanned returns the finding for a network whose scans are unknown, because the running server
// does not report them.
func (e *examination) notScanned(isRunning bool) string {
	if isRunning {
		return "is not watched by the running server: start it again with these settings"
	}
	return "is watched while chequer serve runs; nothing answers on " + e.Settings.Listen + " now"
}

// reportHealth reports the newest scan and the source of a network in the running server.
func (e *examination) reportHealth(h readiness.Network, subject string) {
	scanned := "not scanned yet"
	if h.ScannedAgo != nil {
		scanned = "scanned to block " + format.Grouped(h.Tip) + ", " + (time.Duration(*h.ScannedAgo) * time.Second).String() + " ago"
	}
	source := h.Source
	if h.Peers > 0 {
		source += ", " + format.Plural(h.Peers, "peer")
	}
	if !h.Reached {
		scanned += ", so its payment methods are not offered now"
	}
	switch {
	case h.Fault != "":
		e.warn(subject, "%s; %s: %s", scanned, source, h.Fault)
	case h.Progress != "":
		e.warn(subject, "%s; %s: %s", scanned, source, h.Progress)
	case h.ScannedAgo == nil || *h.ScannedAgo > int64(maxScanSilence.Seconds()):
		e.warn(subject, "%s; %s", scanned, source)
	default:
		e.ok(subject, "%s; %s", scanned, source)
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
