// Package retention removes the personal data of shoppers from invoices, and old invoices from the books, after the
// periods that a merchant has chosen, and the metadata of shop plug-ins after a period of the whole server.
package retention

import (
	"context"
	"time"
)

// Storage removes personal data in parts. It is safe for concurrent use, also by several processes.
type Storage interface {
	// RetentionShops returns the merchants that have chosen a period, and those with a run that has not ended.
	RetentionShops(ctx context.Context) ([]string, error)
	// RemovePersonalData examines the next invoices of a merchant's run in one transaction, and removes the personal data
	// of those whose period has ended; see Due. It reports whether the run is done, or not due
	// yet. Its end writes an entry of the audit log with the numbers of what the run has removed.
	RemovePersonalData(ctx context.Context, merchantID string, now time.Time) (done bool, err error)
	// RemovePluginMetadata examines the metadata of shop plug-ins that are the oldest in one transaction, and removes those
	// whose period, in days, has ended; see PluginMetadataSince. It writes an entry of the audit log for each merchant. It
	// reports whether no others are due.
	RemovePluginMetadata(ctx context.Context, days int, now time.Time) (done bool, err error)
	// BookShops returns the merchants that have chosen a period for their books, and those with a run that has not ended.
	BookShops(ctx context.Context) ([]string, error)
	// RemoveBooks is RemovePersonalData for the removal of invoices; see Removable. An invoice is removed with everything
	// that belongs to it, except the entries of the audit log.
	RemoveBooks(ctx context.Context, merchantID string, now time.Time) (done bool, err error)
}
