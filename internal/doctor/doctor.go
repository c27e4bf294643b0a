// Package doctor examines an installation, and reports the faults that keep shoppers from paying.
package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"chequer/internal/account"
	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/datadir"
	"chequer/internal/format"
	"chequer/internal/guard"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/networks"
	"chequer/internal/readiness"
	"chequer/internal/sale"
)

// maxFault bounds the length of a displayed error, in characters.
const maxFault = 500

// Level is the severity of a finding.
type Level string

// The levels of a finding.
const (
	LevelOK   Level = "ok"
	LevelNote Level = "note" // neither a fault nor a success
	LevelWarn Level = "warn"
	LevelFail Level = "fail"
)

// Finding is one result of the doctor.
type Finding struct {
	Level   Level  `json:"level"`
	About   string `json:"about"`
	Message string `json:"says"`
}

// Storage reads the state of the installation.
type Storage interface {
	// Ready returns an error if the storage does not accept writes.
	Ready(ctx context.Context) error
	Clock
	AuditLog
	Notifications
	Sums
	Refunds
	// LeaderSkews returns, for each watched network, the time by which the clock of the process that watches it is
	// ahead of the database's clock.
	LeaderSkews(ctx context.Context) (map[chain.ID]time.Duration, error)
	// UntrustedProxy returns the address of a proxy that is not trusted; the zero address if none was
	// noticed.
	UntrustedProxy(ctx context.Context) (netip.Addr, error)
	Wallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error)
	// AllWallets lists the wallets of a merchant, including former wallets, oldest first.
	AllWallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error)
	networks.Wallets
	// UnsureWaiting returns the number of a merchant's live transfers on a network that are not sure, of invoices that wait for a
	// decision. On Monero such a transfer is time-locked.
	UnsureWaiting(ctx context.Context, merchantID string, network chain.ID) (int, error)
	// NextIndex returns the next unused index of a counter of addresses.
	NextIndex(ctx context.Context, counter string) (uint32, error)
	Keys(ctx context.Context, merchantID string) ([]merchant.Key, error)
	// UnusedInARow returns the number of a wallet's newest addresses on a network, back to the last one with a
	// transfer, that have no transfer.
	UnusedInARow(ctx context.Context, w merchant.Wallet, network chain.ID) (int64, error)
	// SaleCountsOf returns the number of a merchant's sales in each state.
	SaleCountsOf(ctx context.Context, merchantID string) (map[invoice.SaleState]int, error)
}

// Config holds what an examination needs.
type Config struct {
	Settings config.Config
	// Demo leaves out what only live payments need, because the installation is a demo.
	Demo bool
	// Shops are the shops to examine. With several, each finding about one of them names it.
	Shops []merchant.Merchant
	// Storefronts has the IDs of the shops whose storefront has a form for an open amount.
	Storefronts map[string]bool
	Storage     Storage
	Endpoints   *merchant.Endpoints
	Accounts    *sale.Accounts
	Desk        *account.Service
	// EndpointPolicy has the addresses to which events may be sent.
	EndpointPolicy guard.Policy
	Identity       readiness.Identity
	Now            func() time.Time
}

// examination collects findings.
type examination struct {
	Config
	found []Finding
}

// shopExamination collects the findings about one shop.
type shopExamination struct {
	*examination
	shop    merchant.Merchant
	wallets []merchant.Wallet
}

// add adds a finding.
func (e *examination) add(level Level, subject, format string, args ...any) {
	e.found = append(e.found, Finding{Level: level, About: subject, Message: fmt.Sprintf(format, args...)})
}

func (e *examination) ok(subject, format string, args ...any) {
	e.add(LevelOK, subject, format, args...)
}

func (e *examination) warn(subject, format string, args ...any) {
	e.add(LevelWarn, subject, format, args...)
}

func (e *examination) fail(subject, format string, args ...any) {
	e.add(LevelFail, subject, format, args...)
}

// Examine returns the findings about an installation.
func Examine(ctx context.Context, c Config) ([]Finding, error) {
	e := &examination{Config: c}
	if e.Demo {
		e.add(LevelNote, "demo", "its networks and rates are simulated; the address, wallets, networks, rates and API keys for live payments are not examined")
	}
	if err := e.Storage.Ready(ctx); err != nil {
		e.fail("storage", "%s accepts no writes, so no invoice can be created: %s", datadir.Place(e.Settings), format.OneLine(err.Error(), maxFault))
	} else {
		e.ok("storage", "%s accepts writes, and the master key is correct", datadir.Place(e.Settings)) // storage.Open checked the key
	}
	e.examineSpace()
	running, _, err := readiness.Request(ctx, e.Settings, e.Identity.Pass)
	isRunning := err == nil
	if isRunning && !running.Ready {
		e.fail("server", "the server on %s is not ready to create invoices: see its log", e.Settings.Listen)
	}
	if !e.Demo {
		e.examineAddress(ctx, isRunning)
	}
	if err := e.examineProxy(ctx); err != nil {
		return nil, err
	}
	if err := e.examineClocks(ctx); err != nil {
		return nil, err
	}
	shops, wallets, err := e.shops(ctx)
	if err != nil {
		return nil, err
	}
	all, err := networks.New(e.Settings, e.Storage, e.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	if !e.Demo {
		if err := e.examineLive(ctx, shops, wallets, all, running, isRunning); err != nil {
			return nil, err
		}
	}
	for _, s := range shops {
		if err := s.examine(ctx, all); err != nil {
			return nil, err
		}
	}
	for _, examine := range []func(context.Context) error{e.examineDesk, e.examineAuditLog, e.examineNotifications} {
		if err := examine(ctx); err != nil {
			return nil, err
		}
	}
	if len(wallets) > 0 {
		e.examineBackup()
	}
	return e.found, nil
}

// examineLive adds the findings about the wallets, the rates and the networks of live payments.
func (e *examination) examineLive(ctx context.Context, shops []*shopExamination, wallets []merchant.Wallet, all []networks.Network, running readiness.Answer, isRunning bool) error {
	for _, s := range shops {
		if err := s.examineWallets(); err != nil {
			return err
		}
	}
	if err := e.examineRates(ctx, wallets); err != nil {
		return err
	}
	e.examineNetworks(ctx, all, wallets, running, isRunning)
	if err := e.examineConnections(ctx, shops, running, isRunning); err != nil {
		return err
	}
	e.examinePrices(all, wallets)
	return nil
}

// shops returns the examinations of the shops, and the wallets of all of them.
func (e *examination) shops(ctx context.Context) (all []*shopExamination, wallets []merchant.Wallet, err error) {
	for _, m := range e.Shops {
		s := &shopExamination{examination: e, shop: m}
		if s.wallets, err = e.Storage.Wallets(ctx, m.ID, merchant.Live); err != nil {
			return nil, nil, err
		}
		all, wallets = append(all, s), append(wallets, s.wallets...)
	}
	return all, wallets, nil
}

// about returns the subject of a finding, with the name of the shop if there are several.
func (e *shopExamination) about(subject string) string {
	if len(e.Shops) < 2 {
		return subject
	}
	return e.shop.Name + ", " + subject
}

// examine adds the findings about the shop, except those about its wallets.
func (e *shopExamination) examine(ctx context.Context, all []networks.Network) error {
	if err := e.examineGaps(ctx, all); err != nil {
		return err
	}
	for _, examine := range []func(context.Context) error{e.examineEndpoints, e.examineSales, e.examineRefunds, e.examineKeys, e.examineSums} {
		if err := examine(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ExamineUnopened returns the findings when the storage cannot be opened, for the given reason.
func ExamineUnopened(settings config.Config, reason error) []Finding {
	e := &examination{Config: Config{Settings: settings}}
	e.fail("storage", "%s", format.OneLine(reason.Error(), maxFault))
	e.examineSpace()
	return e.found
}

// examineWallets reports the wallets, the payment methods that they give, and the settings that would
// add methods.
func (e *shopExamination) examineWallets() error {
	if len(e.wallets) == 0 {
		e.fail(e.about("wallets"), "no live wallet: chequer wallet add BTC zpub… adds one")
	}
	for _, w := range e.wallets {
		methods, err := networks.MethodsOf(e.Settings, keys.Kind(w.Asset))
		if err != nil {
			return err
		}
		e.ok(e.about("wallet"), "%s since %s, %s", w.Asset, w.CreatedAt.UTC().Format(time.DateOnly), methods)
		choices, err := networks.ChoicesOf(e.Settings, keys.Kind(w.Asset))
		if err != nil {
			return err
		}
		for _, choice := range choices {
			e.ok(e.about("additional methods for "+w.Asset), "%s", choice)
		}
	}
	return nil
}

// examineKeys warns if the shop has no live API key and no storefront.
func (e *shopExamination) examineKeys(ctx context.Context) error {
	all, err := e.Storage.Keys(ctx, e.shop.ID)
	if err != nil {
		return err
	}
	live := slices.ContainsFunc(all, func(k merchant.Key) bool { return k.RevokedAt.IsZero() && k.Mode == merchant.Live })
	if !live && !e.Demo && !e.Storefronts[e.shop.ID] {
		e.warn(e.about("keys"), "no live API key, so no program can create invoices through the API: chequer key add")
	}
	return nil
}
