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

// retryInterval is the time after which contracts that did not answer are called again.
const retryInterval = time.Minute

// TokenFault is the reason why a token is not offered, or why a bridged token is not watched.
type TokenFault struct {
	Asset string // its code
	// Wrong is true if the contract's decimals are not those of the asset. Its transfers are
	// not watched either, because their amounts would be wrong.
	Wrong bool
	// Unreadable is true if no endpoint may be queried for balances of the token. Its
	// transfers are not watched either, because their logs do not prove the amounts.
	Unreadable bool
	Text       string
}

// tokenFaults are the tokens that are not offered and why. It is safe for concurrent use.
type tokenFaults struct {
	mu          sync.Mutex
	byCode      map[string]TokenFault // by the code of the asset
	answered    map[string]bool
	attemptedAt time.Time // of the last attempt
}

// newTokenFaults returns the faults of the claimed tokens: their contracts must confirm
// the decimals of the setting, and their balances must be readable.
func newTokenFaults(assets []chain.Asset, claimed []string, readable bool) *tokenFaults {
	f := &tokenFaults{byCode: map[string]TokenFault{}, answered: map[string]bool{}}
	for _, a := range assets {
		switch {
		case !slices.Contains(claimed, a.Code):
		case !readable:
			f.byCode[a.Code] = TokenFault{Asset: a.Code, Unreadable: true, Text: "is neither offered nor watched: only balances of addresses prove its amounts, and no endpoint may be queried for them"}
		default:
			f.byCode[a.Code] = TokenFault{Asset: a.Code, Text: fmt.Sprintf("is not offered until its contract %s confirms %d decimals", a.Contract, a.Currency.Decimals)}
		}
	}
	return f
}

// fault returns why a token is not offered.
func (f *tokenFaults) fault(code string) (TokenFault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault, hasFault := f.byCode[code]
	return fault, hasFault
}

// recordAnswer records the answer of a contract; isNew reports whether the fault is new.
func (f *tokenFaults) recordAnswer(a chain.Asset, decimals int, known bool) (fault TokenFault, isNew bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered[a.Code] = true
	before, hasFault := f.byCode[a.Code]
	switch {
	case before.Unreadable:
		return before, false
	case !known && hasFault:
		fault = TokenFault{Asset: a.Code, Text: fmt.Sprintf("is not offered: its contract %s does not return its decimals, or does not exist", a.Contract)}
	case known && decimals != int(a.Currency.Decimals):
		state := "is neither offered nor watched"
		if a.BridgeOf != "" {
			state = "is not watched"
		}
		fault = TokenFault{Asset: a.Code, Wrong: true, Text: fmt.Sprintf("%s: its contract %s has %d decimals, not %d", state, a.Contract, decimals, a.Currency.Decimals)}
	default:
		delete(f.byCode, a.Code)
		return TokenFault{}, false
	}
	f.byCode[a.Code] = fault
	return fault, fault != before
}

// due returns the tokens whose contracts are to be queried now.
func (f *tokenFaults) due(assets []chain.Asset, now time.Time) []chain.Asset {
	f.mu.Lock()
	defer f.mu.Unlock()
	if since := now.Sub(f.attemptedAt); since >= 0 && since < retryInterval {
		return nil
	}
	due := slices.DeleteFunc(slices.Clone(assets), func(a chain.Asset) bool { return a.Contract == "" || f.answered[a.Code] })
	if len(due) > 0 {
		f.attemptedAt = now
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
	due := s.tokenFaults.due(s.allAssets(), s.now())
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
		fault, isNew := s.tokenFaults.recordAnswer(a, decimals, known)
		if isNew && s.OnTokenFault != nil {
			s.OnTokenFault(fault)
		}
		if fault.Wrong {
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

// allAssets returns the assets and the bridged tokens.
func (s *Scanner) allAssets() []chain.Asset { return slices.Concat(s.assets, s.bridged) }

// watchedAssets returns the watched assets and bridged tokens.
func (s *Scanner) watchedAssets() []chain.Asset {
	return slices.DeleteFunc(s.allAssets(), func(a chain.Asset) bool {
		fault, _ := s.tokenFaults.fault(a.Code)
		return fault.Wrong || fault.Unreadable
	})
}

// TokenFaults returns why tokens are not offered or not watched, from memory.
func (s *Scanner) TokenFaults() []TokenFault {
	var list []TokenFault
	for _, a := range s.allAssets() {
		if fault, hasFault := s.tokenFaults.fault(a.Code); hasFault {
			list = append(list, fault)
		}
	}
	return list
}
