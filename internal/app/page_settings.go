package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/web"
)

// pageSettings reads the payment settings of the shops for their pages. It is safe for concurrent use.
type pageSettings struct {
	settings *merchant.Settings
	root     string // ID of the shop at the root
	language string // standard language, if a shop offers it
	initial  web.ShopSettings
	now      func() time.Time
	log      *slog.Logger

	mu    sync.Mutex
	shops map[string]shopPages // by merchant ID
	// failedAt is the time at which settings could not be read; zero after a success.
	failedAt time.Time
}

// shopPages are the settings of the pages of a shop that were read last.
type shopPages struct {
	web.ShopSettings
	codes []string // the languages, as they are set
}

const (
	// settingsReadTimeout bounds the time that a page waits for its settings.
	settingsReadTimeout = time.Second
	// settingsRetryDelay is the time after a failure in which no settings are read again, so that pages
	// do not wait for a storage that does not answer.
	settingsRetryDelay = time.Second
)

// newPageSettings returns new pageSettings. The pages of a shop have the initial settings until its settings can
// be read.
func newPageSettings(settings *merchant.Settings, root, language string, initial web.ShopSettings, now func() time.Time, log *slog.Logger) *pageSettings {
	return &pageSettings{settings: settings, root: root, language: language, initial: initial, now: now, log: log, shops: map[string]shopPages{}}
}

// current returns the settings of the pages of a shop, or of the shop at the root if shopID is "" or unknown. If
// they cannot be read, it returns the last ones.
func (p *pageSettings) current(ctx context.Context, shopID string) web.ShopSettings {
	if shopID == "" {
		shopID = p.root
	}
	last, isDown := p.last(shopID)
	if isDown {
		return last.ShopSettings
	}
	limited, cancel := context.WithTimeout(ctx, settingsReadTimeout)
	defer cancel()
	s, err := p.settings.Effective(limited, shopID)
	switch {
	case errors.Is(err, merchant.ErrNotFound) && shopID != p.root:
		return p.current(ctx, p.root)
	case err != nil:
		if ctx.Err() == nil {
			p.failed(err)
		}
		return last.ShopSettings
	}
	return p.update(shopID, s)
}

// last returns the settings of a shop that were read last, and reports whether settings could not be read a
// moment ago.
func (p *pageSettings) last(shopID string) (last shopPages, isDown bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, known := p.shops[shopID]
	if !known {
		last.ShopSettings = p.initial
	}
	age := p.now().Sub(p.failedAt)
	return last, !p.failedAt.IsZero() && age >= 0 && age < settingsRetryDelay
}

// failed records and logs that settings could not be read.
func (p *pageSettings) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failedAt = p.now()
	p.log.Error("settings of pages not read", "error", err)
}

// update keeps settings of a shop that were read, and returns those of its pages.
func (p *pageSettings) update(shopID string, s merchant.PaymentSettings) web.ShopSettings {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failedAt = time.Time{}
	last := p.shops[shopID]
	last.Storefront, last.Currency = s.Storefront, s.Currency
	if last.Languages == nil || !slices.Equal(s.Languages, last.codes) {
		last.codes = slices.Clone(s.Languages)
		languages, err := languagesByCode(p.language, s.Languages)
		if err != nil {
			p.log.Error("languages of pages not read", "shop", shopID, "error", err)
			languages = locale.All()
		}
		last.Languages = languages
	}
	p.shops[shopID] = last
	return last.ShopSettings
}

// languagesByCode returns the languages with the given codes, or all languages if there are no codes. The standard language is the
// first one if the codes do not contain it.
func languagesByCode(standard string, codes []string) (*locale.Languages, error) {
	if len(codes) > 0 && !slices.Contains(codes, standard) {
		standard = codes[0]
	}
	return locale.All().Subset(standard, codes...)
}
