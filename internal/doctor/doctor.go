// Package doctor examines an installation: what works and what is missing before shoppers can pay.
package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"chequer/internal/account"
	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/datadir"
	"chequer/internal/guard"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/networks"
	"chequer/internal/readiness"
	"chequer/internal/sale"
)

// Level is the severity of a finding.
type Level string

// The levels of a finding.
const (
	LevelOK   Level = "ok"
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
	// LeaderSkews returns the skew of the clock of each process that watches a network.
	LeaderSkews(ctx context.Context) (map[chain.ID]time.Duration, error)
	// UntrustedProxy returns the address of a proxy that is not trusted; the zero address if none was
	// noticed.
	UntrustedProxy(ctx context.Context) (netip.Addr, error)
	Wallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error)
	Keys(ctx context.Context, merchantID string) ([]merchant.Key, error)
	// UnusedInARow returns the number of a wallet's newest addresses on a network that have no payment.
	UnusedInARow(ctx context.Context, w merchant.Wallet, network chain.ID) (int64, error)
	SaleCounts(ctx context.Context) (map[invoice.SaleState]int, error)
}

// Config holds what an examination needs.
type Config struct {
	Settings config.Config
	// Storefront is true if shoppers can pay open amounts at the root of the server.
	Storefront bool
	Shop       merchant.Merchant
	Storage    Storage
	Endpoints  *merchant.Endpoints
	Accounts   *sale.Accounts
	Desk       *account.Service
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

// Examine reports what works and what is missing before shoppers can pay.
func Examine(ctx context.Context, c Config) ([]Finding, error) {
	e := &examination{Config: c}
	if err := e.Storage.Ready(ctx); err != nil {
		e.fail("storage", "%s accepts no writes, so no invoice can be created: %s", datadir.Place(e.Settings), oneLine(err))
	} else {
		e.ok("storage", "%s accepts writes, and the master key is correct", datadir.Place(e.Settings))
	}
	e.examineSpace()
	running, _, err := readiness.Request(ctx, e.Settings, e.Identity.Pass)
	answers := err == nil
	if answers && !running.Ready {
		e.fail("server", "the server on %s is not ready to create invoices: see its log", e.Settings.Listen)
	}
	e.examineAddress(ctx, answers)
	if err := e.examineProxy(ctx); err != nil {
		return nil, err
	}
	if err := e.examineClocks(ctx); err != nil {
		return nil, err
	}
	wallets, err := e.Storage.Wallets(ctx, e.Shop.ID, merchant.Live)
	if err != nil {
		return nil, err
	}
	if err := e.examineWallets(wallets); err != nil {
		return nil, err
	}
	if err := e.examineRates(ctx); err != nil {
		return nil, err
	}
	all, err := networks.New(e.Settings, e.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	e.examineNetworks(ctx, all, wallets, running, answers)
	e.examinePrices(all, wallets)
	for _, examine := range []func(context.Context) error{
		func(ctx context.Context) error { return e.examineGaps(ctx, all, wallets) },
		e.examineEndpoints, e.examineSales, e.examineDesk, e.examineAuditLog, e.examineNotifications,
	} {
		if err := examine(ctx); err != nil {
			return nil, err
		}
	}
	if len(wallets) > 0 {
		e.examineBackup()
	}
	if err := e.examineKeys(ctx); err != nil {
		return nil, err
	}
	return e.found, nil
}

// ExamineUnopened returns the findings when the storage cannot be opened, for the given reason.
func ExamineUnopened(settings config.Config, reason error) []Finding {
	e := &examination{Config: Config{Settings: settings}}
	e.fail("storage", "%s", oneLine(reason))
	e.examineSpace()
	return e.found
}

// examineWallets reports the wallets, the payment methods that they give, and the settings that would
// add methods.
func (e *examination) examineWallets(wallets []merchant.Wallet) error {
	if len(wallets) == 0 {
		e.fail("wallets", "none yet: chequer wallet add BTC zpub…")
	}
	for _, w := range wallets {
		methods, err := networks.MethodsOf(e.Settings, keys.Kind(w.Asset))
		if err != nil {
			return err
		}
		e.ok("wallet", "%s since %s, %s", w.Asset, w.CreatedAt.UTC().Format(time.DateOnly), methods)
		choices, err := networks.ChoicesOf(e.Settings, keys.Kind(w.Asset))
		if err != nil {
			return err
		}
		for _, choice := range choices {
			e.ok("more for "+w.Asset, "%s", choice)
		}
	}
	return nil
}

// examineKeys warns if no shop can create invoices.
func (e *examination) examineKeys(ctx context.Context) error {
	all, err := e.Storage.Keys(ctx, e.Shop.ID)
	if err != nil {
		return err
	}
	live := slices.ContainsFunc(all, func(k merchant.Key) bool { return k.RevokedAt.IsZero() && k.Mode == merchant.Live })
	if !live && !e.Storefront {
		e.warn("keys", "no live API key, so no shop can create invoices through the API: chequer key add")
	}
	return nil
}

// oneLine returns the text of an error on one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
