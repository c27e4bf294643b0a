// Package received sums what the keys of a shop received: the confirmed payments to addresses that were derived from
// them. A key may have received or spent more elsewhere, which the program does not see.
package received

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// Transfer is a confirmed transfer to an address of a shop.
type Transfer struct {
	Network chain.ID
	Script  string
	Index   uint32 // of the address under its key
	Asset   string // code
	Amount  money.Amount
}

// Storage reads the wallets and the transfers of a shop. It is safe for concurrent use.
type Storage interface {
	// AllWallets lists the wallets of a merchant, including former wallets, oldest first.
	AllWallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error)
	// EachReceived calls add with each confirmed transfer to the live invoices of a merchant.
	EachReceived(ctx context.Context, merchantID string, add func(Transfer)) error
}

// Sum is the sum of the transfers of one asset.
type Sum struct {
	Asset  string // code
	Amount money.Amount
}

// Sums are the sums of a shop at a time.
type Sums struct {
	At    time.Time
	ByKey map[string][]Sum // by the counter of the wallet, which is the same for all wallets with one key
}

const (
	// minAge is the age from which sums are computed again.
	minAge = time.Minute
	// restFactor is the number by which the time between two computations exceeds the duration of one.
	restFactor = 20
	// firstWait bounds the time for which a caller waits for the first sums of a shop.
	firstWait = 300 * time.Millisecond
)

// Service computes the sums in the background, when they are read. It is safe for concurrent use.
type Service struct {
	storage  Storage
	now      func() time.Time
	log      *slog.Logger
	requests chan string

	mu    sync.Mutex
	shops map[string]*shop
}

// shop holds the sums of a shop.
type shop struct {
	sums      Sums // zero before the first computation
	requested bool
	next      time.Time     // earliest time of the next computation
	computed  chan struct{} // closed after the first computation
}

// maxRequests bounds the number of shops that wait for a computation. A further shop is computed when it is read again.
const maxRequests = 100

// NewService returns a new Service. Run computes the sums.
func NewService(storage Storage, now func() time.Time, log *slog.Logger) *Service {
	return &Service{storage: storage, now: now, log: log, requests: make(chan string, maxRequests), shops: map[string]*shop{}}
}

// Sums returns the newest sums of a shop, and has them computed again if they are old. It waits a moment for the first
// sums; they are zero if they take longer.
func (s *Service) Sums(ctx context.Context, merchantID string) Sums {
	of := s.request(merchantID)
	wait := time.NewTimer(firstWait)
	defer wait.Stop()
	select {
	case <-of.computed:
	case <-wait.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return of.sums
}

// request returns a shop, and requests its sums unless they are new.
func (s *Service) request(merchantID string) *shop {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.shops[merchantID]
	if of == nil {
		of = &shop{computed: make(chan struct{})}
		s.shops[merchantID] = of
	}
	if of.requested || s.now().Before(of.next) {
		return of
	}
	select {
	case s.requests <- merchantID:
		of.requested = true
	default:
	}
	return of
}

// Run computes the requested sums until the context ends, and then returns nil.
func (s *Service) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case merchantID := <-s.requests:
			s.update(ctx, merchantID)
		}
	}
}

// update computes the sums of a shop. If that fails, the former sums stay.
func (s *Service) update(ctx context.Context, merchantID string) {
	start := s.now()
	sums, err := Compute(ctx, s.storage, merchantID, start)
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "received amounts not computed", "merchant", merchantID, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.shops[merchantID]
	of.requested, of.next = false, start.Add(max(minAge, restFactor*s.now().Sub(start)))
	if err != nil {
		return
	}
	if of.sums.At.IsZero() {
		close(of.computed)
	}
	of.sums = sums
}

// Compute returns the sums of a shop at a time. A transfer belongs to the key from which its address is derived. The
// time of its invoice cannot replace the derivation, since a requote may use the key of a newer wallet.
func Compute(ctx context.Context, storage Storage, merchantID string, at time.Time) (Sums, error) {
	wallets, err := storage.AllWallets(ctx, merchantID, merchant.Live)
	if err != nil {
		return Sums{}, fmt.Errorf("read wallets: %w", err)
	}
	finder, err := newFinder(wallets)
	if err != nil {
		return Sums{}, err
	}
	type unit struct {
		asset    string
		currency money.Currency
	}
	byUnit := map[string]map[unit]money.Amount{}
	err = storage.EachReceived(ctx, merchantID, func(t Transfer) {
		counter := finder.find(t)
		if counter == "" {
			return
		}
		if byUnit[counter] == nil {
			byUnit[counter] = map[unit]money.Amount{}
		}
		u := unit{t.Asset, t.Amount.Currency()}
		sum, known := byUnit[counter][u]
		if !known {
			sum = money.Zero(u.currency)
		}
		byUnit[counter][u] = sum.Add(t.Amount)
	})
	if err != nil {
		return Sums{}, fmt.Errorf("read received transfers: %w", err)
	}
	sums := Sums{At: at, ByKey: map[string][]Sum{}}
	for counter, amounts := range byUnit {
		for u, amount := range amounts {
			sums.ByKey[counter] = append(sums.ByKey[counter], Sum{u.asset, amount})
		}
		slices.SortFunc(sums.ByKey[counter], func(a, b Sum) int { return cmp.Compare(a.Asset, b.Asset) })
	}
	return sums, nil
}

// finder finds the key of an address.
type finder struct {
	keys []derived
}

// derived is a key with its counter.
type derived struct {
	counter string
	key     keys.Key
}

// newFinder returns the finder of the keys of wallets, each once.
func newFinder(wallets []merchant.Wallet) (*finder, error) {
	f := &finder{}
	for _, w := range slices.Backward(wallets) {
		if slices.ContainsFunc(f.keys, func(d derived) bool { return d.counter == w.Counter }) {
			continue
		}
		key, err := keys.Load(w.Key)
		if err != nil {
			return nil, fmt.Errorf("wallet %s: %w", w.ID, err)
		}
		f.keys = append(f.keys, derived{w.Counter, key})
	}
	return f, nil
}

// find returns the counter of the key from which the address of a transfer is derived; "" if there is none. It begins
// with the key of the last transfer.
func (f *finder) find(t Transfer) string {
	for i, d := range f.keys {
		if _, script, err := d.key.Address(t.Index); err == nil && script == t.Script {
			f.keys[0], f.keys[i] = f.keys[i], f.keys[0]
			return d.counter
		}
	}
	return ""
}
