package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"chequer/internal/account"
	"chequer/internal/config"
	"chequer/internal/seal"
	"chequer/internal/storage"
	"chequer/internal/token"
	"chequer/internal/wire"
)

// newDesk returns the service of the desk's accounts. Without https it has no site, and makes no links.
func newDesk(c config.Config, s *storage.Storage, box *seal.Box, now func() time.Time) (*account.Service, error) {
	site, err := account.NewSite(c.BaseURL)
	if err != nil && !errors.Is(err, account.ErrInsecure) {
		return nil, fmt.Errorf("CHEQUER_BASE_URL: %w", err)
	}
	issuer := c.ShopName
	if issuer == "" {
		issuer = "Chequer"
	}
	return account.NewService(account.Config{Storage: s, Box: box, Site: site, Issuer: issuer, Encode: wire.AccountEvent, Now: now, Token: token.New})
}

// DeskLink is the link that creates the first account of the desk.
type DeskLink struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// DeskLink returns a new link that creates the first account, the owner of all shops. It returns account.ErrSetUp if there is an
// account, and account.ErrInsecure without https.
func (c *Core) DeskLink(ctx context.Context) (DeskLink, error) {
	if c.Desk.Site == (account.Site{}) {
		return DeskLink{}, account.ErrInsecure
	}
	shops, err := c.Merchants.Shops(ctx)
	if err != nil {
		return DeskLink{}, err
	}
	ids := make([]string, len(shops))
	for i, m := range shops {
		ids[i] = m.ID
	}
	link, err := c.Desk.NewStart(ctx, ids...)
	if err != nil {
		return DeskLink{}, err
	}
	url, err := c.Desk.URL(link)
	return DeskLink{URL: url, ExpiresAt: link.Ticket.ExpiresAt}, err
}

// auditInterval is the interval at which a server verifies the audit log.
const auditInterval = time.Hour

// watchAuditLog returns a loop that verifies the audit log.
func watchAuditLog(s *storage.Storage, log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		tick := time.NewTicker(auditInterval)
		defer tick.Stop()
		for {
			if _, err := s.VerifyAuditLog(ctx); err != nil && ctx.Err() == nil {
				log.Error("audit log not verified", "error", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	}
}
