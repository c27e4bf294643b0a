package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/guard"
	"chequer/internal/keys"
	"chequer/internal/merchant"
)

// probeTimeout is how long the doctor waits for a node or the running server.
const probeTimeout = 5 * time.Second

// examineNetworks reports how each network of the wallets is watched.
func (c *Core) examineNetworks(ctx context.Context, cfg config.Config, networks []live, wallets []merchant.Wallet, running readiness, answers bool, say func(Level, string, string, ...any)) {
	for _, l := range networks {
		used := slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == l.wallet() })
		if !used {
			continue
		}
		about := "network " + string(l.ID())
		if _, watched := l.Network.(chain.Scanner); !watched {
			level, says := unwatched(l, cfg)
			if level == LevelFail && someWatched(networks, wallets) { // the operator may have chosen this
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
		sayClock(running.Networks[i], l.wallet(), c.Now(), about, say)
	}
}

// someWatched reports whether any wallet can be paid on a watched network.
func someWatched(networks []live, wallets []merchant.Wallet) bool {
	return slices.ContainsFunc(networks, func(l live) bool {
		_, watched := l.Network.(chain.Scanner)
		return watched && slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == l.wallet() })
	})
}

// notRunning returns the finding for a network whose scans are unknown, because the running server
// does not report them.
func notRunning(cfg config.Config, answers bool) string {
	if answers {
		return "is not watched by the server that runs: start it again with these settings"
	}
	return "is watched while chequer serve runs; nothing answers on " + cfg.Listen + " now"
}

// sayHealth reports how the running server watches a network.
func sayHealth(h NetworkHealth, about string, say func(Level, string, string, ...any)) {
	scanned := "not scanned yet"
	if h.ScannedAgo != nil {
		scanned = "scanned to block " + chain.Grouped(h.Tip) + ", " + (time.Duration(*h.ScannedAgo) * time.Second).String() + " ago"
	}
	source := h.Source
	if h.Peers > 0 {
		source += ", " + plural(h.Peers, "peer")
	}
	if !h.Reached {
		scanned += ", so its payment methods are not offered now"
	}
	switch {
	case h.Fault != "":
		say(LevelWarn, about, "%s; %s: %s", scanned, source, h.Fault)
	case h.Progress != "":
		say(LevelWarn, about, "%s; %s: %s", scanned, source, h.Progress)
	case h.ScannedAgo == nil || *h.ScannedAgo > int64(maxScanSilence.Seconds()):
		say(LevelWarn, about, "%s; %s", scanned, source)
	default:
		say(LevelOK, about, "%s; %s", scanned, source)
	}
}

// Bounds of the difference between a block's time and this machine's clock. Bitcoin's consensus
// allows blocks two hours ahead and sets no bound for old ones. EVM blocks come every few seconds
// and are refused when they are ahead.
const (
	maxBitcoinAhead = 2 * time.Hour
	maxEVMAhead     = 15 * time.Second
	maxEVMBehind    = 2 * time.Minute
)

// sayClock warns when the block times of a network contradict this machine's clock.
func sayClock(h NetworkHealth, wallet string, now time.Time, about string, say func(Level, string, string, ...any)) {
	if h.TipTime == nil || h.Fault != "" || h.Progress != "" {
		return
	}
	ahead, isEVM := h.TipTime.Sub(now), wallet == string(keys.ETH)
	switch {
	case isEVM && ahead > maxEVMAhead || !isEVM && ahead > maxBitcoinAhead:
		say(LevelWarn, about, "the newest block is %s ahead of this machine's clock: set the clock by NTP, or payments are judged by a wrong time", ahead.Round(time.Second))
	case isEVM && ahead < -maxEVMBehind:
		say(LevelWarn, about, "the newest block is %s old: the network or its endpoints stand still, or this machine's clock is ahead", (-ahead).Round(time.Second))
	}
}

// maxScanSilence is the age of the last scan from which the doctor warns.
const maxScanSilence = 2 * time.Minute

// unwatched returns the finding for a network that is not watched.
func unwatched(l live, cfg config.Config) (Level, string) {
	if cfg.Unwatched {
		return LevelWarn, "is offered and not watched: check each payment in your own wallet"
	}
	remedy := "CHEQUER_UNWATCHED=on offers it all the same"
	if l.setting != "" {
		remedy = l.setting + " switches it on"
	}
	return LevelFail, "is not offered, because it is not watched; " + remedy
}

// probe queries a network's source once.
func probe(ctx context.Context, l live) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return l.probe(ctx)
}

// askServer queries the running server for the state of its networks. It returns false if no server
// answers.
func (c *Core) askServer(ctx context.Context, cfg config.Config) (readiness, bool) {
	found, _, err := askReady(ctx, cfg, c.pass)
	return found, err == nil
}

// Ready queries the server of these settings, at its own address, and returns an error if it is not
// ready.
func Ready(ctx context.Context, cfg config.Config) error {
	found, status, err := askReady(ctx, cfg, "")
	switch {
	case err != nil:
		return err
	case !found.Ready:
		return fmt.Errorf("/readyz answers %d", status)
	}
	return nil
}

// askReady fetches /readyz from the address on which a server with these settings listens.
func askReady(ctx context.Context, cfg config.Config, pass string) (readiness, int, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return readiness{}, 0, err
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	return fetchReadiness(ctx, "http://"+net.JoinHostPort(host, port)+cfg.BasePath()+"/readyz", pass)
}

// maxReadiness bounds the size of the answer of /readyz, in bytes.
const maxReadiness = 1 << 20

// fetchReadiness fetches a server's /readyz. pass is the installation's own, or "" for a server
// that may belong to another operator. The status is 0 if there was no answer. Redirects are not
// followed.
func fetchReadiness(ctx context.Context, url, pass string) (found readiness, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return readiness{}, 0, err
	}
	if pass != "" {
		r.Header.Set("Authorization", "Bearer "+pass)
	}
	client := &http.Client{
		Transport:     guard.NoUpgrade(&http.Transport{DisableKeepAlives: true}), // no HTTP proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(r)
	if err != nil {
		return readiness{}, 0, err
	}
	defer answer.Body.Close()
	err = json.NewDecoder(io.LimitReader(answer.Body, maxReadiness)).Decode(&found)
	return found, answer.StatusCode, err
}
