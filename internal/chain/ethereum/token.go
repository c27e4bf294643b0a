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

// askAgain is how long a contract is left alone that could not be asked.
const askAgain = time.Minute

// Doubt is why a token is not offered, or why a bridged token is not looked for.
type Doubt struct {
	Asset string // its code
	// Wrong tells that its contract scales amounts in another way than we would: what
	// comes there is not looked for either, as it would be read by a wrong scale.
	Wrong bool
	// Unreadable reports that no endpoint may be asked what addresses hold of the token:
	// transfers of it are not looked for either, as their logs do not prove how much
	// arrived.
	Unreadable bool
	Says       string
}

// doubts are what is known of the scales of tokens. Safe for concurrent use.
type doubts struct {
	mu    sync.Mutex
	by    map[string]Doubt // by the code of the asset
	asked map[string]bool
	at    time.Time // of the last try
}

// newDoubts returns the doubts about the claimed tokens: their contracts must confirm
// the decimals that the setting states, and their balances must be readable.
func newDoubts(assets []chain.Asset, claimed []string, readable bool) *doubts {
	d := &doubts{by: map[string]Doubt{}, asked: map[string]bool{}}
	for _, a := range assets {
		switch {
		case !slices.Contains(claimed, a.Code):
		case !readable:
			d.by[a.Code] = Doubt{Asset: a.Code, Unreadable: true, Says: "is neither offered nor looked for: only balances of addresses show how much of it arrives, and no endpoint may be asked for them"}
		default:
			d.by[a.Code] = Doubt{Asset: a.Code, Says: fmt.Sprintf("is not offered before its contract %s was asked whether it has %d decimals", a.Contract, a.Currency.Decimals)}
		}
	}
	return d
}

// doubt tells why a token is not offered.
func (d *doubts) doubt(code string) (Doubt, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	doubt, doubted := d.by[code]
	return doubt, doubted
}

// answer takes note of what a contract says: whether that is news.
func (d *doubts) answer(a chain.Asset, decimals int, told bool) (doubt Doubt, news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked[a.Code] = true
	before, doubted := d.by[a.Code]
	switch {
	case before.Unreadable:
		return before, false
	case !told && doubted:
		doubt = Doubt{Asset: a.Code, Says: fmt.Sprintf("is not offered: its contract %s does not say how many decimals it has, or is not there", a.Contract)}
	case told && decimals != int(a.Currency.Decimals):
		lacks := "is neither offered nor looked for"
		if a.BridgeOf != "" {
			lacks = "is not looked for"
		}
		doubt = Doubt{Asset: a.Code, Wrong: true, Says: fmt.Sprintf("%s: its contract %s has %d decimals, not %d", lacks, a.Contract, decimals, a.Currency.Decimals)}
	default:
		delete(d.by, a.Code)
		return Doubt{}, false
	}
	d.by[a.Code] = doubt
	return doubt, doubt != before
}

// due are the tokens whose contracts are asked now.
func (d *doubts) due(assets []chain.Asset, now time.Time) []chain.Asset {
	d.mu.Lock()
	defer d.mu.Unlock()
	if since := now.Sub(d.at); since >= 0 && since < askAgain {
		return nil
	}
	due := slices.DeleteFunc(slices.Clone(assets), func(a chain.Asset) bool { return a.Contract == "" || d.asked[a.Code] })
	if len(due) > 0 {
		d.at = now
	}
	return due
}

// CheckTokens asks contracts how they scale their amounts, once each, and looks no
// more for tokens that do it in another way than we would. An error leaves the rest to
// another time.
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
		decimals, told, err := source.Decimals(ctx, best.Header, contract)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Code, err)
		}
		doubt, news := s.doubts.answer(a, decimals, told)
		if news && s.Doubted != nil {
			s.Doubted(doubt)
		}
		if doubt.Wrong {
			s.view = newView(s.source, s.looked(), s.params.Claimed, s.params.BlockTime)
		}
	}
	return nil
}

// Looked returns the codes of the assets whose transfers are looked for.
func (s *Scanner) Looked() []string {
	var codes []string
	for _, a := range s.looked() {
		codes = append(codes, a.Code)
	}
	return codes
}

// known are the assets and the bridged tokens.
func (s *Scanner) known() []chain.Asset { return slices.Concat(s.assets, s.bridged) }

// looked are the assets and the bridged tokens that are looked for.
func (s *Scanner) looked() []chain.Asset {
	return slices.DeleteFunc(s.known(), func(a chain.Asset) bool {
		doubt, _ := s.doubts.doubt(a.Code)
		return doubt.Wrong || doubt.Unreadable
	})
}

// Doubts are why tokens are not offered or not looked for, from memory.
func (s *Scanner) Doubts() []Doubt {
	var list []Doubt
	for _, a := range s.known() {
		if doubt, doubted := s.doubts.doubt(a.Code); doubted {
			list = append(list, doubt)
		}
	}
	return list
}
