package app

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/guard"
	"chequer/internal/merchant"
)

// probeFor is how long the doctor waits for a node or the running server.
const probeFor = 5 * time.Second

// examineNetworks says who looks for the money of the wallets, and how that goes.
func (c *Core) examineNetworks(ctx context.Context, cfg config.Config, networks []live, wallets []merchant.Wallet, say func(Level, string, string, ...any)) {
	running, answers := c.askServer(ctx, cfg)
	for _, l := range networks {
		used := slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == l.wallet() })
		if !used {
			continue
		}
		about := "network " + string(l.ID())
		if _, watched := l.Network.(chain.Scanner); !watched {
			level, says := unwatched(l, cfg)
			if level == LevelFail && someWatched(networks, wallets) { // it may be so on purpose
				level = LevelWarn
			}
			say(level, about, "%s", says)
			continue
		}
		if l.probe != nil {
			details, err := probeDetails(ctx, l)
			for _, f := range details {
				say(f.Level, about+", "+f.About, "%s", f.Says)
			}
			if err != nil {
				say(LevelFail, about, "%s", err)
				continue
			}
		}
		i := slices.IndexFunc(running.Networks, func(h NetworkHealth) bool { return h.Network == l.ID() })
		if i < 0 {
			say(LevelWarn, about, "%s", notRunning(cfg, answers))
			continue
		}
		sayHealth(running.Networks[i], about, say)
	}
}

// someWatched tells whether there is a network that some wallet can be paid on.
func someWatched(networks []live, wallets []merchant.Wallet) bool {
	return slices.ContainsFunc(networks, func(l live) bool {
		_, watched := l.Network.(chain.Scanner)
		return watched && slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == l.wallet() })
	})
}

// notRunning says that the doctor cannot tell how a network is scanned.
func notRunning(cfg config.Config, answers bool) string {
	if answers {
		return "is not watched by the server that runs: start it again with these settings"
	}
	return "is watched while chequer serve runs; nothing answers on " + cfg.Listen + " now"
}

// sayHealth says how the running server watches a network.
func sayHealth(h NetworkHealth, about string, say func(Level, string, string, ...any)) {
	scanned := "not scanned yet"
	if h.ScannedAgo != nil {
		scanned = "scanned to block " + chain.Grouped(h.Tip) + ", " + (time.Duration(*h.ScannedAgo) * time.Second).String() + " ago"
	}
	source := h.Source
	if h.Peers > 0 {
		source += ", " + plural(h.Peers, "peer")
	}
	switch {
	case h.Fault != "":
		say(LevelWarn, about, "%s; %s: %s", scanned, source, h.Fault)
	case h.Progress != "":
		say(LevelWarn, about, "%s; %s: %s", scanned, source, h.Progress)
	case h.ScannedAgo == nil || *h.ScannedAgo > int64(scannedLately.Seconds()):
		say(LevelWarn, about, "%s; %s", scanned, source)
	default:
		say(LevelOK, about, "%s; %s", scanned, source)
	}
}

// scannedLately is how old a scan may be before a person should know.
const scannedLately = 2 * time.Minute

// unwatched says what follows from nobody looking at a network.
func unwatched(l live, cfg config.Config) (Level, string) {
	if cfg.Unwatched {
		return LevelWarn, "is offered, but nobody looks: check each payment in your own wallet"
	}
	remedy := "CHEQUER_UNWATCHED=on offers it all the same"
	if l.setting != "" {
		remedy = l.setting + " switches it on"
	}
	return LevelFail, "is not offered, as nobody looks at it; " + remedy
}

// probe asks a network's source how it stands.
func probe(ctx context.Context, l live) error {
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	return l.probe(ctx)
}

// askServer asks the running server how it watches the networks; false when none
// answers.
func (c *Core) askServer(ctx context.Context, cfg config.Config) (readiness, bool) {
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return readiness{}, false
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	url := "http://" + net.JoinHostPort(host, port) + cfg.BasePath() + "/readyz"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return readiness{}, false
	}
	r.Header.Set("Authorization", "Bearer "+c.pass)
	answer, err := (&http.Client{Transport: guard.NoUpgrade(&http.Transport{})}).Do(r) // no proxy: it is this machine
	if err != nil {
		return readiness{}, false
	}
	defer answer.Body.Close()
	var found readiness
	err = json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&found)
	return found, err == nil
}
