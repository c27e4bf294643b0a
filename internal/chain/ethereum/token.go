package ethereum

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// retryInterval is the time after which contracts that could not be asked are asked again.
const retryInterval = time.Minute

// Doubt is the reason why a token is not offered, or why a bridged token is not watched.
type Doubt struct {
	Asset string // its code
	// Wrong is true if the contract's decimals are not those of the asset. Its transfers are
	// not watched either, because their amounts would be wrong.
	Wrong bool
	// Unreadable is true if no endpoint may be asked for balances of the token. Its
	// transfers are not watched either, because their logs do not prove the amounts.
	Unreadable bool
	Text       string
}

// doubts are the tokens that are not offered and why. It is safe for concurrent use.
type doubts struct {
	mu          sync.Mutex
	byCode      map[string]Doubt // by the code of the asset
	answered    map[string]bool
	attemptedAt time.Time // of the last attempt
}

// newDoubts returns the doubts about the claimed tokens: their contracts must confirm
// the decimals of the setting, and their balances must be readable.
func newDoubts(assets []chain.Asset, claimed []string, readable bool) *doubts {
	d := &doubts{byCode: map[string]Doubt{}, answered: map[string]bool{}}
	for _, a := range assets {
		switch {
		case !slices.Contains(claimed, a.Code):
		case !readable:
			d.byCode[a.Code] = Doubt{Asset: a.Code, Unreadable: true, Text: "is neither offered nor watched: only balances of addresses prove its amounts, and no endpoint may be asked for them"}
		default:
			d.byCode[a.Code] = Doubt{Asset: a.Code, Text: fmt.Sprintf("is not offered until its contract %s confirms %d decimals", a.Contract, a.Currency.Decimals)}
		}
	}
	return d
}

// doubt returns why a token is not offered.
func (d *doubts) doubt(code string) (Doubt, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	doubt, doubted := d.byCode[code]
	return doubt, doubted
}

// answer records the answer of a contract; isNew reports whether the doubt is new.
func (d *doubts) answer(a chain.Asset, decimals int, known bool) (doubt Doubt, isNew bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answered[a.Code] = true
	before, doubted := d.byCode[a.Code]
	switch {
	case before.Unreadable:
		return before, false
	case !known && doubted:
		doubt = Doubt{Asset: a.Code, Text: fmt.Sprintf("is not offered: its contract %s does not return its decimals, or does not exist", a.Contract)}
	case known && decimals != int(a.Currency.Decimals):
		state := "is neither offered nor watched"
		if a.BridgeOf != "" {
			state = "is not watched"
		}
		doubt = Doubt{Asset: a.Code, Wrong: true, Text: fmt.Sprintf("%s: its contract %s has %d decimals, not %d", state, a.Contract, decimals, a.Currency.Decimals)}
	default:
		delete(d.byCode, a.Code)
		return Doubt{}, false
	}
	d.byCode[a.Code] = doubt
	return doubt, doubt != before
}

// due returns the tokens whose contracts are asked now.
func (d *doubts) due(assets []chain.Asset, now time.Time) []chain.Asset {
	d.mu.Lock()
	defer d.mu.Unlock()
	if since := now.Sub(d.attemptedAt); since >= 0 && since < retryInterval {
		return nil
	}
	due := slices.DeleteFunc(slices.Clone(assets), func(a chain.Asset) bool { return a.Contract == "" || d.answered[a.Code] })
	if len(due) > 0 {
		d.attemptedAt = now
	}
	return due
}

// CheckTokens asks each contract for its decimals once, and stops watching tokens whose
// decimals differ from the asset's. After an error the remaining contracts are asked
// again later.
func (s *Scanner) CheckTokens(ctx context.Context) error {
	source, ok := s.source.(TokenSource)
	if !ok {
		return nil
	}
	due := s.doubts.due(s.known(), s.now())
	if len(due) == 0 {
		return nil
	}
	best, err := source.Best(ctx)
	if err != nil {
		return err
	}
	for _, a := range due {
		contract, err := keys.ParseEthereumAddress(a.Contract)
		if err != nil {
			return fmt.Errorf("contract of %s: %w", a.Code, err)
		}
		decimals, known, err := source.Decimals(ctx, best.Header, contract)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Code, err)
		}
		doubt, isNew := s.doubts.answer(a, decimals, known)
		if isNew && s.Doubted != nil {
			s.Doubted(doubt)
		}
		if doubt.Wrong {
			s.view = newView(s.source, s.watchedAssets(), s.params.Claimed, s.params.BlockTime)
		}
	}
	return nil
}

// WatchedCodes returns the codes of the watched assets and bridged tokens.
func (s *Scanner) WatchedCodes() []string {
	var codes []string
	for _, a := range s.watchedAssets() {
		codes = append(codes, a.Code)
	}
	return codes
}

// known returns the assets and the bridged tokens.
func (s *Scanner) known() []chain.Asset { return slices.Concat(s.assets, s.bridged) }

// watchedAssets returns the watched assets and bridged tokens.
func (s *Scanner) watchedAssets() []chain.Asset {
	return slices.DeleteFunc(s.known(), func(a chain.Asset) bool {
		doubt, _ := s.doubts.doubt(a.Code)
		return doubt.Wrong || doubt.Unreadable
	})
}

// Doubts returns why tokens are not offered or not watched, from memory.
func (s *Scanner) Doubts() []Doubt {
	var list []Doubt
	for _, a := range s.known() {
		if doubt, doubted := s.doubts.doubt(a.Code); doubted {
			list = append(list, doubt)
		}
	}
	return list
}
