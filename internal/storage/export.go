package storage

import (
	"context"
	"database/sql"
	"fmt"

	"chequer/internal/invoice"
)

// ExportLines implements invoice.ListStorage.
func (s *Storage) ExportLines(ctx context.Context, f invoice.Filter, after invoice.Position, limit int) ([]invoice.ExportLine, invoice.Position, error) {
	lines, more, err := searchPage(ctx, s, s.snapshot, f, after, limit, func(l invoice.ExportLine) invoice.Position { return l.Position() },
		func(ctx context.Context, q querier, l listing) ([]invoice.ExportLine, error) {
			return newExportPage(l).read(ctx, q)
		})
	if err != nil {
		return nil, more, fmt.Errorf("export invoices: %w", err)
	}
	return lines, more, nil
}

// exportPage holds the statements that read lines of an export: the invoices, then their sales.
type exportPage struct{ invoices, sales statement }

func newExportPage(l listing) exportPage {
	return exportPage{l.invoices(exportColumns), l.sales()}
}

func (p exportPage) read(ctx context.Context, q querier) ([]invoice.ExportLine, error) {
	var lines []invoice.ExportLine
	sold := map[string]int{} // index of the line, by invoice
	err := visitRows(ctx, q, func(row scanner) error {
		line, conversions, err := readExportLine(row)
		if conversions > 0 {
			sold[line.ID] = len(lines)
		}
		lines = append(lines, line)
		return err
	}, p.invoices.text, p.invoices.args...)
	if err != nil || len(sold) == 0 {
		return lines, err
	}
	rows, err := list(ctx, q, readSaleColumns, p.sales.text, p.sales.args...)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		sale, err := r.sale()
		if err != nil {
			return nil, fmt.Errorf("invoice %s: sale of %s: %w", r.invoiceID, r.coin, err)
		}
		line := &lines[sold[r.invoiceID]]
		line.Sales = append(line.Sales, sale)
	}
	return lines, nil
}

// exportColumns are the columns that readExportLine reads.
const exportColumns = summaryColumns + `, note, disable_sale, tolerance, paid_tx, refund_asset, refund, refund_by, first_paid_at, accepted_at, accepted_by, conversions`

// readExportLine returns a line without its sales, and their number.
func readExportLine(row scanner) (line invoice.ExportLine, conversions int64, err error) {
	var r summaryRow
	var tolerance string
	var firstPaidAt, acceptedAt sql.Null[int64]
	err = row.Scan(append(r.fields(), &line.Note, &line.DisableSale, &tolerance, &line.PaidTx, &line.RefundAddress.Asset, &line.RefundAddress.Address, &line.RefundAddress.By,
		&firstPaidAt, &acceptedAt, &line.AcceptedBy, &conversions)...)
	if err != nil {
		return line, 0, err
	}
	line.FirstPaidAt, line.AcceptedAt = fromMillis(firstPaidAt), fromMillis(acceptedAt)
	if line.Summary, err = r.summary(); err != nil {
		return line, 0, err
	}
	if line.Tolerance, err = parseOptional(tolerance, r.fiat); err != nil {
		return line, 0, fmt.Errorf("invoice %s: tolerance: %w", line.ID, err)
	}
	return line, conversions, nil
}
