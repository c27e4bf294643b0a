package app

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/web"
)

// pageSettings reads the payment settings of the shop for its pages. It is safe for concurrent use.
type pageSettings struct {
	settings *merchant.Settings
	shopID   string
	language string // standard language, if the shop offers it
	now      func() time.Time
	log      *slog.Logger

	mu   sync.Mutex
	last web.Current
	// failedAt is the time at which the settings could not be read; zero after a success.
	failedAt time.Time
	// codes are the languages of last, as they are set.
	codes []string
}

const (
	// maxSettingsRead bounds the time that a page waits for its settings.
	maxSettingsRead = time.Second
	// settingsRetry is the time after a failure in which the settings are not read again, so that pages
	// do not wait for a storage that does not answer.
	settingsRetry = time.Second
)

// newPageSettings returns new pageSettings. The pages have the initial settings if none can be read.
func newPageSettings(settings *merchant.Settings, shopID, language string, initial web.Current, now func() time.Time, log *slog.Logger) *pageSettings {
	return &pageSettings{settings: settings, shopID: shopID, language: language, now: now, log: log, last: initial}
}

// current returns the settings of the pages. If they cannot be read, it returns the last ones.
func (p *pageSettings) current(ctx context.Context) web.Current {
	p.mu.Lock()
	last, failedAt := p.last, p.failedAt
	p.mu.Unlock()
	if age := p.now().Sub(failedAt); !failedAt.IsZero() && age >= 0 && age < settingsRetry {
		return last
	}
	limited, cancel := context.WithTimeout(ctx, maxSettingsRead)
	defer cancel()
	s, err := p.settings.Effective(limited, p.shopID)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			p.failedAt = p.now()
			p.log.Error("settings of pages not read", "error", err)
		}
		return p.last
	}
	p.failedAt = time.Time{}
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
	return locale.All().Subset(standard, codes...)
}
