package storage

import (
	"context"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/report"
)

// Statement is a statement with its arguments.
type Statement struct {
	Text string
	Args []any
}

// Drivers returns the number of selectors that may drive the list of a filter.
func Drivers(f invoice.Filter) int {
	all, _ := drivers(f)
	return len(all)
}

// driverOf returns the selector with a number among those that may drive the list of a filter.
func driverOf(f invoice.Filter, number int) int {
	if all, _ := drivers(f); number < len(all) {
		return all[number]
	}
	return -1
}

// SearchEndStatements returns the statement that finds the end of a search.
func SearchEndStatements(f invoice.Filter, after invoice.Position, driver int) []Statement {
	return []Statement{exported(newSearchEnd(f, after, driverOf(f, driver), 20))}
}

// SetMaxExamined sets the number of invoices that a page of a list examines.
func SetMaxExamined(s *Storage, n int) { s.maxExamined = n }

// InvoicesStatements returns the statements of Storage.Invoices, Storage.Summaries and
// Storage.ExportLines.
func InvoicesStatements(f invoice.Filter, after invoice.Position, limit, driver int) []Statement {
	l := newListing(f, after, limit, driverOf(f, driver))
	p, e := newPage(l), newExportPage(l)
	return []Statement{exported(p.invoices), exported(p.transfers), exported(p.spends), exported(p.sales), exported(p.refunds), exported(l.invoices(summaryColumns)), exported(e.invoices)}
}

// UndecidedStatements returns the statements of Storage.Undecided.
func UndecidedStatements(after invoice.Position, limit int) []Statement {
	p := newPage(undecided("shop", invoice.Live, time.Unix(0, 0), after, limit))
	return []Statement{exported(p.invoices), exported(p.transfers), exported(p.spends), exported(p.sales), exported(p.refunds)}
}

// CaseStatements returns the statements of Storage.Snoozed and Storage.Resolutions.
func CaseStatements(at time.Time, limit int) (inSnoozes, inResolutions Statement) {
	return exported(snoozed("shop", invoice.Live, at, limit)), exported(resolutions("shop", invoice.Live, at, limit))
}

// RetentionStatements returns the statements that find the invoices of a run of the retention, and the metadata of plug-ins.
func RetentionStatements(merchantID string, before time.Time) (passed, waiting, metadata []Statement) {
	return []Statement{exported(passedInvoices(merchantID, invoice.Live, retentionPosition{1, "i"}, before))},
		[]Statement{exported(waitingInvoices(merchantID, "i"))}, []Statement{exported(oldPluginMetadata(before))}
}

// TallyStatements returns the statements of Storage.Tally.
func TallyStatements(merchantID string, mode invoice.Mode) []Statement {
	return []Statement{{tallySQL, []any{merchantID, string(mode), 0}}}
}

// DaySumsStatements returns the statements of Storage.DaySums.
func DaySumsStatements(p report.Period) []Statement {
	return []Statement{exported(selectDaySums("shop", 1, invoice.Live, p)), exported(selectAssetSums("shop", 1, invoice.Live, p))}
}

// FillStatements returns the statements that read the invoices for a generation of sums, and for its check.
func FillStatements() []Statement {
	return []Statement{{paidInvoices, []any{"shop", "live", 0, 1_000_000}}, {nthPaidAt, []any{"shop", "live", 0, 2}}, {newestPaid, []any{"shop", "live", 2}}}
}

// PaidStatements returns the statements of Storage.PaidLines.
func PaidStatements(p report.Period, after report.Position, limit int) []Statement {
	e := newExportPage(paidListing("shop", invoice.Live, p.Start(time.UTC), p.End(time.UTC), after, limit))
	return []Statement{exported(e.invoices), exported(e.sales)}
}

// SecurityStatements returns the statements of Storage.SecurityEntries.
func SecurityStatements(limit int) []Statement {
	return []Statement{{securityEntries, []any{"shop", int64(1000), limit}}}
}

// DeliveriesStatements returns the statements of Storage.Deliveries.
func DeliveriesStatements(endpointID string, state merchant.DeliveryState, below int64, limit int) []Statement {
	return []Statement{exported(deliveries(endpointID, state, below, limit))}
}

// NewestEventsStatements returns the statements of Storage.NewestEvents.
func NewestEventsStatements(merchantID string, mode invoice.Mode, after int64, eventType string, limit int) []Statement {
	return []Statement{exported(newestEvents(merchantID, mode, after, eventType, limit))}
}

// SaleStatements returns the statements of Storage.InvoicesWithSales.
func SaleStatements(merchantID string, state invoice.SaleState, limit int) []Statement {
	p := newSalesPage(merchantID, state, limit)
	return []Statement{exported(p.invoices), exported(p.sales)}
}

// RefundStatements returns the statements of Storage.Refunds.
func RefundStatements(state invoice.RefundState, after invoice.Position, limit int) []Statement {
	return []Statement{exported(newRefundsPage(invoice.RefundFilter{MerchantID: "shop", Mode: invoice.Live, State: state}, after, limit))}
}

// SweepStatements returns the statements of the list of sweeps.
func SweepStatements(after string, limit int) []Statement {
	return []Statement{exported(newSweepsPage("shop", after, limit))}
}

func exported(s statement) Statement { return Statement{s.text, s.args} }

// LookupStatements returns, by the index that must serve them, statements that read few rows of large
// tables.
func LookupStatements() map[string][]Statement {
	return map[string][]Statement{
		"invoices_to_check":        {{openMethods, nil}},
		"destinations_by_position": {{newestDestinations, []any{"bitcoin", "shop", 0, 1000, gapWindow}}},
		"transfers_pkey":           {{rises, []any{"bitcoin", 0}}},
		"events_by_id":             {{eventPosition, []any{"e", "evt_1"}}},
		"deliveries_in_order":      {{invoiceDeliveries, []any{"e", "i1", 20}}, {earlierDelivery, []any{"e", 20, 0, "i1"}}},
		"invoices_by_age":          {{nthInvoice, []any{"shop", 0, "", 10}}, {receivedTransfers, []any{"shop", 0, "", 1, "i"}}},
		"refunds_by_position":      {{watchedRefunds, []any{"shop", "bitcoin", 0, 0}}},
		"transfers_unsure":         {{unsureWaiting, []any{"shop", "live", "decision", "monero"}}},
		"refunds_by_state":         {{overdueRefunds, []any{"shop", "live", 100}}},
		"refunds_by_payment":       {{refundsPaidBy(2), []any{"t1", "t2", "bitcoin"}}},
		"refunds_unfinal":          {{unfinalRefunds, []any{"bitcoin"}}},
		"refunds_by_block":         {{refundsAbove, []any{"bitcoin", 100}}},
		"refunds_stated":           {{statedRefunds, []any{"base", "ETH-BASE", 100, 100}}},
		"received_sums_pkey":       {{selectReceived, []any{"shop"}}},
		"invoices_by_source":       {{invoiceOfSource, []any{"shop", "live", "l7", "link"}}},
		"links_by_age":             {exported(links("shop", "live", merchant.LinkPosition{}, 20)), exported(links("shop", "live", merchant.LinkPosition{CreatedAt: time.Unix(1, 0), Slug: "a"}, 20))},
		"deliveries_due":           {{retryPending, []any{"e", 0, 500, 0}}},
		"deliveries_by_state":      {{deliveryCounts, []any{"e", merchant.EventTest, 10}}},
		"tries_in_time":            {{lastAttempt, []any{"e"}}},
	}
}

// CountStatements returns the numbers of statements that read a page of the list of invoices: of whole
// invoices, of summaries and of lines of an export.
func (s *Storage) CountStatements(ctx context.Context, f invoice.Filter, limit int) (invoices, summaries, lines int, err error) {
	l := newListing(f, invoice.Position{}, limit, driverOf(f, 0))
	err = s.snapshot(ctx, func(ctx context.Context, q querier) error {
		for _, form := range []struct {
			statements *int
			read       func(querier) error
		}{
			{&invoices, func(q querier) error { _, err := s.readPage(ctx, q, newPage(l)); return err }},
			{&summaries, func(q querier) error { _, err := readSummaries(ctx, q, l); return err }},
			{&lines, func(q querier) error { _, err := newExportPage(l).read(ctx, q); return err }},
		} {
			c := &statementRecorder{querier: q}
			if err := form.read(c); err != nil {
				return err
			}
			*form.statements = len(c.statements)
		}
		return nil
	})
	return invoices, summaries, lines, err
}

// InvoiceTables are the tables from which the removal of an invoice deletes rows by its identifier.
var InvoiceTables = invoiceTables

// ConnectionsStatement returns the statement of Storage.Connections.
func ConnectionsStatement() Statement {
	return Statement{selectConnections, []any{connectionMargin.Milliseconds()}}
}
