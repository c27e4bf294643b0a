package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/download"
	"chequer/internal/invoice"
	"chequer/internal/wire"
)

// exportPageSize is the number of lines of a CSV export that are read at once.
const exportPageSize = 200

// exportInvoices handles GET invoices/export: all invoices that match a filter, newest first. Invoices
// that are created meanwhile are before the first page.
func (s *server) exportInvoices(c echo.Context, k call) error {
	selected, format, style := s.newSelection(k), "", wire.CSVStyle{}
	parameters := selected.parameters()
	maps.Copy(parameters, map[string]parameter{
		"format":    oneOf(&format, "csv", "json"),
		"delimiter": oneOf(&style.Delimiter, "comma", "semicolon", "tab"),
		"decimal":   oneOf(&style.Decimal, "point", "comma"),
		"bom":       oneOf(&style.BOM, "true", "false"),
		"timezone":  zone(&style.Zone),
	})
	f, err := selected.read(c.Request().URL.RawQuery, parameters)
	if err != nil {
		return err
	}
	switch {
	case format == "":
		return invalid("format", "is required")
	case format != "csv" && style != (wire.CSVStyle{}):
		return badRequest("invalid_format", "delimiter, decimal, bom and timezone are for the format csv")
	}
	if err := s.checkRemoved(c.Request().Context(), f); err != nil {
		return err
	}
	disposition := `attachment; filename="invoices.` + format + `"`
	if format == "csv" {
		header := map[string]string{"Content-Disposition": disposition, "Content-Type": "text/csv; charset=utf-8; header=present"}
		return export(c, s, f, s.Invoices.ExportLines, exportPageSize, header, func() download.Encoder[invoice.ExportLine] { return wire.NewCSV(c.Response(), style) })
	}
	header := map[string]string{"Content-Disposition": disposition, "Content-Type": "application/json"}
	return export(c, s, f, s.Invoices.Invoices, maxPage, header, func() download.Encoder[*invoice.Invoice] { return newJSONSheet(c.Response(), s.Invoices) })
}

// checkRemoved returns an error if a filter names days whose invoices were removed from the books: a file would lack them.
func (s *server) checkRemoved(ctx context.Context, f invoice.Filter) error {
	if s.RemovedBefore == nil {
		return nil
	}
	before, at, err := s.RemovedBefore(ctx, f.MerchantID)
	if err != nil {
		return err
	}
	namesRemoved := !f.From.IsZero() && f.From.Before(before) || !f.To.IsZero() && !f.To.After(before)
	if before.IsZero() || !namesRemoved {
		return nil
	}
	return &problem{status: http.StatusGone, code: "books_removed", message: fmt.Sprintf("Invoices before %s were removed from the books on %s", wire.Time(before), wire.Time(at))}
}

// export sends all pages of a list as a file. limit is the size of a page, and open returns a new encoder of the
// file.
func export[T interface{ Position() invoice.Position }](
	c echo.Context, s *server, f invoice.Filter, read pageReader[T], limit int, header map[string]string, open func() download.Encoder[T],
) error {
	return download.Send(c, download.File[T]{Header: header, Page: limit, Open: open, Log: s.Log, Read: func(ctx context.Context, after *T, limit int) ([]T, error) {
		var start invoice.Position
		if after != nil {
			start = (*after).Position()
		}
		return invoice.ReadPages(ctx, read, f, start, limit)
	}})
}

// pageReader reads a page of a list, such as invoice.Service.Invoices.
type pageReader[T any] func(ctx context.Context, f invoice.Filter, after invoice.Position, limit int) ([]T, invoice.Position, error)

// zone parses the name of a time zone. It refuses "Local", the zone of the server.
func zone(target **time.Location) parameter {
	return func(value string) error {
		location, err := time.LoadLocation(value)
		if err != nil || value == "" || value == "Local" {
			return errors.New("must be the name of a time zone such as Europe/Vienna or UTC")
		}
		*target = location
		return nil
	}
}

// jsonSheet writes a JSON array of resources.
type jsonSheet struct {
	to       io.Writer
	invoices *invoice.Service
	before   string // text before the next resource
}

func newJSONSheet(to io.Writer, invoices *invoice.Service) *jsonSheet {
	return &jsonSheet{to: to, invoices: invoices, before: "["}
}

// Write writes an invoice.
func (j *jsonSheet) Write(inv *invoice.Invoice) error {
	text, err := json.Marshal(wire.Resource(j.invoices, inv, nil))
	if err != nil {
		return err
	}
	_, err = j.to.Write(append([]byte(j.before), text...))
	j.before = ",\n"
	return err
}

// Close ends the array.
func (j *jsonSheet) Close() error {
	if j.before == "[" { // no invoice was written
		_, err := io.WriteString(j.to, "[]")
		return err
	}
	_, err := io.WriteString(j.to, "]")
	return err
}
