package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/light"
	"chequer/internal/chain/bitcoin/node"
	"chequer/internal/config"
)

// lightClient watches a network with the built-in light client.
func lightClient(c config.Config, network *bitcoin.Network, now func() time.Time, log *slog.Logger) live {
	name := network.Params().Name
	i := slices.IndexFunc(light.Networks, func(n light.Network) bool { return n.Name == name })
	source := light.New(light.Config{
		Network: light.Networks[i], Dir: filepath.Join(c.DataDir, "bitcoin-"+name), Peers: c.Peers(), Log: log, Now: now,
	})
	return live{Network: bitcoin.Watch(network, source, now), run: source.Run}
}

// ownNode watches a network through the merchant's own node.
func ownNode(s config.Chain, setting string, network *bitcoin.Network, now func() time.Time, log *slog.Logger) (live, error) {
	u, err := url.Parse(s.Node)
	if err != nil {
		return live{}, fmt.Errorf("%s: no address of a node", setting)
	}
	params := network.Params()
	password, _ := u.User.Password()
	c := node.Config{
		User: u.User.Username(), Password: password, CookieFile: s.Cookie, CertFile: s.Cert,
		Setting: setting, Chain: params.Chain, Genesis: params.Genesis, Checkpoint: params.Checkpoint,
		BlocksAsJSON: params.Extended, Now: now, Log: log,
	}
	u.User = nil
	c.URL = u.String()
	source, err := node.New(c)
	if err != nil {
		return live{}, err
	}
	return live{Network: bitcoin.Watch(network, source, now), probe: func(ctx context.Context) error {
		_, err := source.Best(ctx)
		return err
	}}, nil
}
