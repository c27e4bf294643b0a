package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"time"

	"chequer/internal/config"
	"chequer/internal/datadir"
	"chequer/internal/doctor"
	"chequer/internal/guard"
	"chequer/internal/invoice"
	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/notify"
	"chequer/internal/readiness"
	"chequer/internal/storage"
)

// newNotifications returns the service that keeps the notifications of accounts.
func newNotifications(c config.Config, s *storage.Storage, now func() time.Time) *notify.Service {
	return notify.NewService(notify.ServiceConfig{
		Storage: s, CheckURL: func(url string) error { return endpointPolicy(c).Check(url, true) }, HasMail: c.SMTPURL != "", Now: now,
	})
}

// tlsModes are the modes of TLS by their setting.
var tlsModes = map[config.SMTPTLS]notify.TLSMode{
	config.StartTLS: notify.StartTLS, config.ImplicitTLS: notify.ImplicitTLS, config.NoTLS: notify.NoTLS,
}

// mailServer returns the mail server of the settings.
func mailServer(c config.Config) notify.MailServer {
	s := c.SMTP()
	return notify.MailServer{Host: s.Host, Port: s.Port, TLS: tlsModes[s.TLS], User: s.User, Password: s.Password, From: s.From}
}

// notifications returns the loop that collects the notifications of accounts and sends their messages.
func (d *domain) notifications(c config.Config, log *slog.Logger) *notify.Worker {
	words := locale.All().Default()
	return notify.New(notify.Config{
		Outbox: d.Storage, Mail: mailServer(c), Words: words, DeskURL: c.BaseURL + "/desk", Shops: d.Storage.Merchants, Now: d.Now, Log: log,
		Dialer: &guard.Dialer{Policy: endpointPolicy(c), Resolver: net.DefaultResolver},
		Collector: notify.NewCollector(notify.CollectorConfig{
			Storage: d.Storage, Words: words, AssetName: d.assetName, Now: d.Now,
			Faults: func(ctx context.Context) ([]notify.Fault, error) { return d.faults(ctx, c) },
		}),
	})
}

// assetName returns the name of an asset as the desk shows it.
func (d *domain) assetName(mode invoice.Mode, code string) string {
	a, known := d.invoices.AssetByCode(mode, code)
	switch {
	case !known:
		return code
	case a.Contract != "":
		return a.Symbol + " (" + a.NetworkName + ")"
	}
	return a.Name
}

// faults returns the present faults of the server and of all shops.
func (d *domain) faults(ctx context.Context, c config.Config) ([]notify.Fault, error) {
	networks, err := d.readiness().State(ctx)
	if err != nil {
		return nil, err
	}
	used, err := d.networksWithWallet(ctx, networks)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(d.networkFaults(used), d.rateFaults(used))
	shops, err := d.Storage.Merchants(ctx)
	if err != nil {
		return nil, err
	}
	for _, shop := range shops {
		failing, err := d.endpointFaults(ctx, shop)
		if err != nil {
			return nil, err
		}
		all = append(all, failing...)
	}
	unreadable, err := d.Storage.Unreadable(ctx)
	if err != nil {
		return nil, err
	}
	if n := len(unreadable); n > 0 {
		all = append(all, notify.Fault{Key: "unreadable", Text: fmt.Sprintf("%d stored invoices cannot be read and are skipped; the log names them", n)})
	}
	return append(all, d.backupFaults(c)...), nil
}

// networksWithWallet returns the watched networks for which a shop has a wallet. The server does not read the
// other networks.
func (d *domain) networksWithWallet(ctx context.Context, networks []readiness.Network) (used []readiness.Network, err error) {
	for _, n := range d.allNetworks() {
		i := slices.IndexFunc(networks, func(r readiness.Network) bool { return r.Network == n.ID() && r.Watched })
		if i < 0 {
			continue
		}
		found, err := d.Storage.HasWallet(ctx, n.Wallet())
		if err != nil {
			return nil, err
		}
		if found {
			used = append(used, networks[i])
		}
	}
	return used, nil
}

// networkFaults returns the networks that are out of reach.
func (d *domain) networkFaults(networks []readiness.Network) (all []notify.Fault) {
	for _, n := range networks {
		if !n.Reached {
			all = append(all, notify.Fault{
				MerchantID: d.connections.owner(n.Network), Key: "network " + string(n.Network), Text: d.networkName(n.Network) + " is out of reach: its payments are seen late, and new invoices do not offer it",
			})
		}
	}
	return all
}

// rateFaults returns the assets of networks that have no usable rate.
func (d *domain) rateFaults(networks []readiness.Network) (all []notify.Fault) {
	reported, now := map[string]bool{}, d.rates()
	for _, n := range d.allNetworks() {
		if !slices.ContainsFunc(networks, func(r readiness.Network) bool { return r.Network == n.ID() }) {
			continue
		}
		for _, a := range n.Assets() {
			if reported[a.Rate] {
				continue
			}
			if _, err := now.Rate(a.Rate, a.Currency, money.EUR); err != nil {
				reported[a.Rate] = true
				all = append(all, notify.Fault{Key: "rate " + a.Rate, Text: a.Name + " has no usable exchange rate: new invoices do not offer it"})
			}
		}
	}
	return all
}

// endpointFaults returns the webhooks of a shop that do not accept events. A URL may contain a token, so
// that the text has only its host.
func (d *domain) endpointFaults(ctx context.Context, shop merchant.Merchant) (all []notify.Fault, err error) {
	endpoints, err := d.Endpoints.All(ctx, shop.ID)
	if err != nil {
		return nil, err
	}
	for _, e := range endpoints {
		h, err := d.Endpoints.Health(ctx, e)
		if err != nil {
			return nil, err
		}
		if e.Mode != merchant.Live || e.Paused || !h.Failing() || h.Waiting == 0 && h.Failed == 0 {
			continue
		}
		host := ""
		if u, err := url.Parse(e.URL); err == nil {
			host = u.Host
		}
		all = append(all, notify.Fault{
			MerchantID: shop.ID, Key: "endpoint " + e.ID,
			Text: fmt.Sprintf("The webhook to %s fails: %s events wait, %s are given up", host, merchant.Counted(h.Waiting), merchant.Counted(h.Failed)),
		})
	}
	return all, nil
}

// backupFaults reports an old backup. A server that was never backed up is a finding of the doctor, not a
// fault that began at some time.
func (d *domain) backupFaults(c config.Config) []notify.Fault {
	last, found, err := datadir.LastBackup(c.DataDir)
	if age := d.Now().Sub(last.FinishedAt); err == nil && found && age > doctor.MaxBackupAge {
		return []notify.Fault{{Key: "backup", Text: fmt.Sprintf("The last backup is %d days old", int(age.Hours()/24))}}
	}
	return nil
}
