package app

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/web"
)

// pageSettings reads the payment settings of the shop for its pages. It is safe for concurrent use.
type pageSettings struct {
	settings *merchant.Settings
	shopID   string
	language string // standard language, if the shop offers it
	log      *slog.Logger

	mu   sync.Mutex
	last web.Current
	// codes are the languages of last, as they are set.
	codes []string
}

// newPageSettings returns new pageSettings. The pages have the initial settings if none can be read.
func newPageSettings(settings *merchant.Settings, shopID, language string, initial web.Current, log *slog.Logger) *pageSettings {
	return &pageSettings{settings: settings, shopID: shopID, language: language, log: log, last: initial}
}

// current returns the settings of the pages. If they cannot be read, it returns the last ones.
func (p *pageSettings) current(ctx context.Context) web.Current {
	s, err := p.settings.Effective(ctx, p.shopID)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			p.log.Error("settings of pages not read", "error", err)
		}
		return p.last
	}
	p.last.Storefront = s.Storefront
	if slices.Equal(s.Languages, p.codes) && p.codes != nil {
		return p.last
	}
	p.codes = append([]string{}, s.Languages...)
	if p.last.Languages, err = offer(p.language, s.Languages); err != nil {
		p.log.Error("languages of pages not read", "error", err)
		p.last.Languages = locale.All()
	}
	return p.last
}

// offer returns the languages with the given codes, or all if there are none. The standard language is the
// first one if the codes do not contain it.
func offer(standard string, codes []string) (*locale.Languages, error) {
	if len(codes) > 0 && !slices.Contains(codes, standard) {
		standard = codes[0]
	}
	return locale.All().Offer(standard, codes...)
}
