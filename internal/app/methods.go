package app

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// Methods are the payment methods of a kind of wallet under some settings.
type Methods struct {
	Offered []string    `json:"offered"` // codes, in the server's order
	Off     []MethodOff `json:"off"`
	// More are the methods of networks that the settings do not name.
	More []MethodOff `json:"more,omitempty"`
}

// MethodOff is a group of payment methods that are not offered for one reason.
type MethodOff struct {
	Codes  []string `json:"codes"`
	Reason string   `json:"reason"` // includes the setting that would change it
}

// WalletMethods returns the payment methods of a live wallet of a kind. It makes no network
// requests.
func WalletMethods(c config.Config, kind keys.Kind) (Methods, error) {
	log := slog.New(slog.DiscardHandler)
	networks, err := liveNetworks(c, now, log)
	if err != nil {
		return Methods{}, err
	}
	moment, loop, err := rateTable(c, Options{Log: log})
	if err != nil {
		return Methods{}, err
	}
	m := Methods{Offered: []string{}, Off: []MethodOff{}}
	for _, l := range networks {
		if l.wallet() != string(kind) {
			continue
		}
		for _, a := range allAssets(l) {
			reason := whyOff(c, l, a)
			if _, err := moment().Rate(a.Rate, a.Currency, money.EUR); reason == "" && loop == nil && err != nil {
				reason = "no fixed rate: add " + a.Rate + "-EUR=… to CHEQUER_RATES"
			}
			if reason == "" {
				m.Offered = append(m.Offered, a.Code)
				continue
			}
			m.Off = addOff(m.Off, a.Code, reason)
		}
	}
	if kind == keys.ETH && !c.EVM.Trial() {
		m.More = otherNetworks(networks, bool(c.EVM.AddressQueries))
	}
	return m, nil
}

// addOff adds a method to the group of methods that are off for the same reason.
func addOff(off []MethodOff, code, reason string) []MethodOff {
	i := slices.IndexFunc(off, func(o MethodOff) bool { return o.Reason == reason })
	if i < 0 {
		off, i = append(off, MethodOff{Reason: reason}), len(off)
	}
	off[i].Codes = append(off[i].Codes, code)
	return off
}

// otherNetworks returns the methods of the EVM main networks that are not in a list. mayAsk reports
// whether endpoints may be queried for balances of addresses.
func otherNetworks(networks []live, mayAsk bool) []MethodOff {
	var more []MethodOff
	for _, p := range ethereum.Networks {
		if p.Trial || slices.ContainsFunc(networks, func(l live) bool { return l.ID() == p.ID }) {
			continue
		}
		reason := "the network is off; " + config.RPCSetting(string(p.ID)) + "=public switches it on, and its public endpoints learn " + networkPrice(mayAsk)
		if !mayAsk {
			reason += "; " + ownCoin(p) + " also needs " + addressQueries + "=on"
		}
		for _, a := range p.Assets {
			more = addOff(more, a.Code, reason)
		}
	}
	return more
}

// allAssets returns the assets of a network, including its own coin when that cannot be watched.
func allAssets(l live) []chain.Asset {
	if e, isEVM := l.Network.(endpoints); isEVM {
		return e.Params().Assets
	}
	return l.Assets()
}

// whyOff returns why an asset of a network is not offered; "" if it is offered.
func whyOff(c config.Config, l live, a chain.Asset) string {
	if _, watched := l.Network.(chain.Scanner); !watched {
		if c.Unwatched {
			return ""
		}
		_, says := unwatched(l, c)
		return "the network " + says
	}
	e, isEVM := l.Network.(endpoints)
	if !isEVM {
		return ""
	}
	for _, d := range e.Doubts() {
		if d.Asset != a.Code {
			continue
		}
		if d.Unreadable {
			return needsBalances(l.setting)
		}
		return d.Says
	}
	if a.Policy.Balance && !e.quorum.MayAsk() {
		return needsBalances(l.setting)
	}
	return ""
}

// needsBalances returns why a method that is observed by balances is off, how it can be enabled,
// and what that costs in privacy.
func needsBalances(setting string) string {
	return "only balances of your addresses show the money, and no endpoint may be asked for them: " + remedies(setting)
}

// String returns a one-line summary of the methods that are offered and off.
func (m Methods) String() string {
	text := "gives " + strings.Join(m.Offered, ", ")
	if len(m.Offered) == 0 {
		text = "gives no payment method"
	}
	var off []string
	for _, o := range m.Off {
		off = append(off, o.Codes...)
	}
	if len(off) > 0 {
		text += "; off: " + strings.Join(off, ", ")
	}
	return text
}

// why describes the reasons of the groups of methods that are off.
func (m Methods) why() string {
	var groups []string
	for _, o := range m.Off {
		groups = append(groups, strings.Join(o.Codes, ", ")+": "+o.Reason)
	}
	return strings.Join(groups, "; ")
}

// logMethods logs the payment methods that the live wallets of a merchant have and lack under the
// settings, or the methods of each kind of wallet if there is no wallet.
func (c *Core) logMethods(ctx context.Context, cfg config.Config, merchantID string, log *slog.Logger) error {
	wallets, err := c.Storage.Wallets(ctx, merchantID, merchant.Live)
	if err != nil {
		return err
	}
	var kinds []any
	for _, kind := range []keys.Kind{keys.BTC, keys.LTC, keys.ETH} {
		gives, err := WalletMethods(cfg, kind)
		if err != nil {
			return err
		}
		kinds = append(kinds, string(kind), gives.String())
		there := slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == string(kind) })
		if there && len(gives.Off) > 0 {
			log.Info("payment methods of the wallet", "wallet", kind, "offered", strings.Join(gives.Offered, ", "), "off", gives.why())
		}
	}
	if len(wallets) == 0 {
		log.Info("no wallet yet: chequer wallet add adds one", kinds...)
	}
	return nil
}
