// Package storage stores all persistent data in SQLite or PostgreSQL: one schema, one SQL text.
package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/casework"
	"chequer/internal/chain/simnet"
	"chequer/internal/clock"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/notify"
	"chequer/internal/report"
	"chequer/internal/retention"
	"chequer/internal/sale"
	"chequer/internal/seal"
	"chequer/internal/storage/engine"
	"chequer/internal/storage/highwater"
	"chequer/internal/watcher"
	"chequer/internal/webhook"
)

// Storage is an open database. It is safe for concurrent use.
type Storage struct {
	engine        *engine.Engine
	box           *seal.Box
	indexMarks    *highwater.Marks
	auditMark     *audit.Mark
	now           func() time.Time
	log           *slog.Logger
	progressCache progressCache
	shared        sharedTermsCache
	keys          keys.Cache
	leases        observations
	// sumBatch is the constant of this name, except in tests.
	sumBatch int
	// compared is the constant comparedInvoices, except in tests.
	compared int
	// restarted has a hint after this process restarted sums of days; see report.FillStorage.
	restarted chan struct{}
	// maxExamined is the number of invoices that a page of a list examines if no index serves all of its filters.
	maxExamined int
	skew        atomic.Int64 // of this process's clock against the database's, in milliseconds
	pruned      atomic.Int64 // time of the last deletion of expired rows, in Unix milliseconds
}

var _ interface {
	invoice.Storage
	invoice.Changes
	merchant.Storage
	merchant.EndpointStorage
	merchant.LinkStorage
	simnet.Storage
	watcher.Storage
	webhook.Storage
	sale.Storage
	sale.AccountStorage
	account.Storage
	report.Storage
	report.FillStorage
	notify.Storage
	casework.Storage
	retention.Storage
} = (*Storage)(nil)

// Options are the options of Open.
type Options struct {
	// IndexMarks is the file that stores, outside the database, the range of destination indexes
	// that may have been used; "" = none.
	IndexMarks string
	// AuditMark is the file that stores, outside the database, the newest known end of the audit log;
	// "" = none.
	AuditMark string
	// Now returns the time of entries of the audit log; nil is the machine's clock.
	Now func() time.Time
	// The following are those of engine.Options.
	Connections int
	Upgrade     bool
	BusyTimeout time.Duration
	Log         *slog.Logger
}

// Open opens a database, "sqlite:PATH", a plain path, or "postgres://…", and makes its schema if
// necessary. The errors include engine.ErrMasterKey, engine.ErrNewer and engine.ErrOlder.
func Open(ctx context.Context, url string, box *seal.Box, o Options) (*Storage, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Storage{box: box, log: o.Log, sumBatch: sumBatch, compared: comparedInvoices, restarted: make(chan struct{}, 1), auditMark: audit.NewMark(o.AuditMark), now: clock.Now, maxExamined: maxExamined}
	if o.Now != nil {
		s.now = o.Now
	}
	d, err := engine.DialectOf(url)
	if err != nil {
		return nil, err
	}
	s.indexMarks, err = highwater.Open(o.IndexMarks, d, indexes, o.Log)
	if err != nil {
		return nil, err
	}
	s.engine, err = engine.Open(ctx, url, box, engine.Options{
		Connections: o.Connections, Upgrade: o.Upgrade, BusyTimeout: o.BusyTimeout,
		Unavailable: invoice.ErrUnavailable, Prove: s.indexMarks.Prove, Log: o.Log,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), s.indexMarks.Close())
	}
	err = s.indexMarks.CatchUp(ctx, s.engine)
	if err == nil {
		err = s.fillLists(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), s.engine.Close(), s.indexMarks.Close())
	}
	return s, nil
}

// Migration returns the change of the schema that Open made.
func (s *Storage) Migration() engine.Migration { return s.engine.Migration() }

// Ready proves with a write that invoices can be stored. It writes at most once every few seconds,
// however often it is called. The error is the reason why invoices cannot be stored.
func (s *Storage) Ready(ctx context.Context) error { return s.engine.Ready(ctx) }

// Close waits for running transactions and closes the database.
func (s *Storage) Close() error {
	s.indexMarks.Settle(s.engine)
	return errors.Join(s.engine.Close(), s.indexMarks.Close())
}
