package networks

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

// bitcoinNetwork returns a network of Bitcoin's family with the source that its settings select.
func bitcoinNetwork(c config.Config, s config.Chain, setting string, known []bitcoin.Params, now func() time.Time, log *slog.Logger) (n Network, err error) {
	network := bitcoin.New(paramsOf(s, known))
	switch {
	case s.Off():
		n = Network{Network: network}
	case s.Node == config.NodeLight:
		n = lightClient(c, network, now, log)
	default:
		n, err = ownNode(s, setting, network, now, log)
	}
	n.Setting = setting
	return n, err
}

// lightClient watches a network with the built-in light client.
func lightClient(c config.Config, network *bitcoin.Network, now func() time.Time, log *slog.Logger) Network {
	name := network.Params().Name
	i := slices.IndexFunc(light.Networks, func(n light.Network) bool { return n.Name == name })
	source := light.New(light.Config{
		Network: light.Networks[i], Dir: filepath.Join(c.DataDir, "bitcoin-"+name), Peers: c.Peers(), Log: log, Now: now,
	})
	return Network{Network: bitcoin.Watch(network, source, now), Run: source.Run}
}

// ownNode watches a network through the merchant's own node.
func ownNode(s config.Chain, setting string, network *bitcoin.Network, now func() time.Time, log *slog.Logger) (Network, error) {
	u, err := url.Parse(s.Node)
	if err != nil {
		return Network{}, fmt.Errorf("%s is not the address of a node", setting)
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
		return Network{}, err
	}
	return Network{Network: bitcoin.Watch(network, source, now), Probe: func(ctx context.Context) error {
		_, err := source.Best(ctx)
		return err
	}}, nil
}
