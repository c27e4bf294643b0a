package reports

import (
	"context"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/internal/download"
	"chequer/internal/invoice"
	"chequer/internal/report"
	"chequer/internal/wire"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// exportRows is the number of rows of an export that one query reads.
const exportRows = 200

// formats are the formats of an export, by their name in the query. The first is the default.
var formats = []struct {
	name, text string
	style      wire.CSVStyle // its zone is that of the shop
}{
	{"csv", "desk.export.csv", wire.CSVStyle{Offsets: true}},
	{"excel", "desk.export.excel", wire.CSVStyle{BOM: "true"}},
	{"excel-comma", "desk.export.comma", wire.CSVStyle{Delimiter: "semicolon", Decimal: "comma", BOM: "true"}},
}

// exportForm returns the form that downloads the invoices of a report.
func (v *page) exportForm(q query, r report.Report) desk.Export {
	var invoices int64
	for _, t := range r.Totals {
		invoices += t.Total.Invoices
	}
	e := desk.Export{
		Action: v.Below(visit.ReportsPath + "/export"), Kept: q.hidden("mode", "period", "from", "to"),
		Text:   v.Words.Count("desk.export.rows", int(invoices)),
		Format: desk.Filter{Name: "format", Label: v.Text("desk.export.format")},
	}
	for i, f := range formats {
		e.Format.Options = append(e.Format.Options, desk.Option{Value: f.name, Text: v.Text(f.text), Chosen: i == 0})
	}
	return e
}

// export sends the invoices that became paid in a period as a file, in the order in which they became paid.
func (v *page) export() error {
	q, format := v.query(), formats[0]
	known := v.QueryParam("format") == ""
	for _, f := range formats {
		if f.name == v.QueryParam("format") {
			format, known = f, true
		}
	}
	if len(q.problems) > 0 || !known {
		return echo.NewHTTPError(http.StatusBadRequest, "the period or the format of the export is wrong")
	}
	removed, err := v.Reports.Removed(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return err
	}
	if removed.Has(q.period) {
		return v.showReports(http.StatusGone) // the page has a note; a file would lack the invoices
	}
	format.style.Zone, format.style.NamesZone = v.Zone(), true
	return download.Send(v.Context, download.File[invoice.ExportLine]{
		Header: map[string]string{
			echo.HeaderContentType:        "text/csv; charset=utf-8; header=present",
			echo.HeaderContentDisposition: fmt.Sprintf(`attachment; filename="paid-%s-%s-to-%s.csv"`, q.mode, q.period.From, q.period.Last()),
		},
		Page: exportRows, Log: v.Log,
		Open: func() download.Encoder[invoice.ExportLine] { return wire.NewCSV(v.Response(), format.style) },
		Read: func(ctx context.Context, after *invoice.ExportLine, limit int) ([]invoice.ExportLine, error) {
			var p report.Position
			if after != nil {
				p = report.PositionOf(*after)
			}
			return v.Reports.Lines(ctx, v.Shop.ID, q.mode, q.period, v.Zone(), p, limit)
		},
	})
}
