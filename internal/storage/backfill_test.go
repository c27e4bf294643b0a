package storage_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/storage"
)

// Columns of lists that are missing are filled when the database is opened.
func TestOpen_fills_the_columns_of_lists(t *testing.T) {
	t.Parallel()
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := engines[name](t)
			s := open(t, url)
			addMerchants(t, s)
			origins := []invoice.Origin{{}, {Kind: invoice.FromLink, ID: "tips"}, {Kind: invoice.FromProduct, ID: "soap"}, {Kind: invoice.FromTerminal, ID: "t1"}, {Kind: invoice.FromStorefront}}
			metadata := []map[string]string{nil, {"note": "x"}, {"product": "soap", "quantity": "2"}, {"terminal": "t1"}, {"order_reference": "table 7"}}
			for i := range 12 {
				c := creation(fmt.Sprintf("i%02d", i), "shop")
				build := c.Build
				c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
					inv, err := build(next)
					inv.Origin, inv.Terms.Metadata, inv.Terms.Description = origins[i%5], metadata[i%5], fmt.Sprint("Chair ", i)
					inv.Terms.DisableSale, inv.Terms.Rules.Tolerance = i%2 == 0, money.FromCents(int64(i), money.EUR)
					inv.Transfers = []invoice.Transfer{{
						ID: inv.ID, Tx: inv.ID, Network: "bitcoin", Asset: "BTC", Script: inv.Methods[0].Destination.Script, Amount: money.MustParse("0.1", money.BTC),
						Presence: invoice.Present, FirstSeen: inv.CreatedAt,
					}}
					return inv, err
				}
				create(t, s, c)
			}
			f := invoice.Filter{MerchantID: "shop", Mode: invoice.Live}
			want, _, err := s.ExportLines(t.Context(), f, invoice.Position{}, 100)
			if err != nil || len(want) != 12 {
				t.Fatalf("%d lines, error %v", len(want), err)
			}
			execSQL(t, url, "UPDATE invoices SET listed = FALSE, description = '', reference = '', note = '', disable_sale = FALSE, tolerance = '', received = ''")
			execSQL(t, url, "UPDATE invoices SET origin = '', origin_id = '' WHERE origin <> 'link'") // which the migration fills
			s = open(t, url)
			got, _, err := s.ExportLines(t.Context(), f, invoice.Position{}, 100)
			if err != nil || !cmp.Equal(want, got, same) {
				t.Errorf("error %v (-want +got):\n%s", err, cmp.Diff(want, got, same))
			}
			if remaining := rows(t, url, "SELECT id FROM invoices WHERE NOT listed"); len(remaining) > 0 {
				t.Errorf("%q are not filled", remaining)
			}
		})
	}
}

// checkLists fails unless the lists of the first release's invoices have the same content as the invoices.
func checkLists(t *testing.T, s *storage.Storage) {
	t.Helper()
	for _, mode := range []invoice.Mode{invoice.Live, invoice.Test} {
		f := invoice.Filter{MerchantID: "m", Mode: mode}
		invoices, _, err := s.Invoices(t.Context(), f, invoice.Position{}, 100)
		if err != nil || len(invoices) == 0 {
			t.Fatalf("%d invoices, error %v", len(invoices), err)
		}
		tally := invoice.NewTally()
		var summaries []invoice.Summary
		var lines []invoice.ExportLine
		for _, inv := range invoices {
			summaries, lines = append(summaries, inv.Summary()), append(lines, inv.ExportLine())
			tally.Add(inv.Summary())
		}
		if got, _, err := s.Summaries(t.Context(), f, invoice.Position{}, 100); err != nil || !cmp.Equal(summaries, got, same) {
			t.Errorf("summaries, error %v (-want +got):\n%s", err, cmp.Diff(summaries, got, same))
		}
		if got, _, err := s.ExportLines(t.Context(), f, invoice.Position{}, 100); err != nil || !cmp.Equal(lines, got, same) {
			t.Errorf("lines of an export, error %v (-want +got):\n%s", err, cmp.Diff(lines, got, same))
		}
		if got, err := s.Tally(t.Context(), "m", mode, noon); err != nil || !cmp.Equal(tally, got) {
			t.Errorf("tally, error %v (-want +got):\n%s", err, cmp.Diff(tally, got))
		}
		f.NeedsDecision = true
		if got, _, err := s.Summaries(t.Context(), f, invoice.Position{}, 100); err != nil || int64(len(got)) != tally.NeedDecision {
			t.Errorf("%d invoices need a decision, error %v, want %d", len(got), err, tally.NeedDecision)
		}
	}
}
