package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/invoice"
	"chequer/internal/wire"
)

// pageWriteTimeout is the time that the caller may take to read a page of an export.
const pageWriteTimeout = time.Minute

// maxLines is the number of lines of an export that are read at once.
const maxLines = 200

// exportInvoices handles GET invoices/export: all invoices that match a filter, newest first. It reads
// and writes the invoices page by page, so that neither its use of memory nor the time of a read of the
// database depends on their number. Invoices that are created meanwhile are before the first page.
func (s *server) exportInvoices(c echo.Context, k call) error {
	selected, format, style := s.newSelection(k), "", wire.CSVStyle{}
	parameters := selected.parameters()
	maps.Copy(parameters, map[string]parameter{
		"format":    word(&format, "csv", "json"),
		"delimiter": word(&style.Delimiter, "comma", "semicolon", "tab"),
		"decimal":   word(&style.Decimal, "point", "comma"),
		"bom":       word(&style.BOM, "true", "false"),
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
	disposition := `attachment; filename="invoices.` + format + `"`
	if format == "csv" {
		header := map[string]string{"Content-Disposition": disposition, "Content-Type": "text/csv; charset=utf-8; header=present"}
		return export(c, s, f, s.Invoices.ExportLines, maxLines, header, func() sheet[invoice.ExportLine] { return wire.NewCSV(c.Response(), style) })
	}
	header := map[string]string{"Content-Disposition": disposition, "Content-Type": "application/json"}
	return export(c, s, f, s.Invoices.Invoices, maxPage, header, func() sheet[*invoice.Invoice] { return newJSONSheet(c.Response(), s.Invoices) })
}

// sheet is a file to which invoices are written one by one.
type sheet[T any] interface {
	Write(T) error
	End() error
}

// export writes all pages of a list to a sheet. An error of the first page is the answer. After an error of
// a later one, the connection is aborted: a normal return would end the answer as if it were complete.
func export[T interface{ Position() invoice.Position }](
	c echo.Context, s *server, f invoice.Filter, read pageReader[T], limit int, header map[string]string, open func() sheet[T],
) error {
	ctx := c.Request().Context()
	page, err := read(ctx, f, invoice.Position{}, limit)
	if err != nil {
		return err
	}
	for name, value := range header {
		c.Response().Header().Set(name, value)
	}
	c.Response().WriteHeader(http.StatusOK)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	if err := writePages(ctx, http.NewResponseController(c.Response()), open(), f, page, read, limit); err != nil {
		s.Log.Warn("export aborted", "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// pageReader reads a page of a list, such as invoice.Service.Invoices.
type pageReader[T any] func(ctx context.Context, f invoice.Filter, after invoice.Position, limit int) ([]T, error)

// writePages writes a page and all following pages to a sheet.
func writePages[T interface{ Position() invoice.Position }](
	ctx context.Context, control *http.ResponseController, out sheet[T], f invoice.Filter, page []T, read pageReader[T], limit int,
) error {
	for {
		_ = control.SetWriteDeadline(time.Now().Add(pageWriteTimeout)) // fails only if the connection has no write deadline
		for _, inv := range page {
			if err := out.Write(inv); err != nil {
				return err
			}
		}
		if len(page) < limit {
			return out.End()
		}
		var err error
		if page, err = read(ctx, f, page[len(page)-1].Position(), limit); err != nil {
			return err
		}
	}
}

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

// End ends the array.
func (j *jsonSheet) End() error {
	if j.before == "[" { // no invoice was written
		_, err := io.WriteString(j.to, "[]")
		return err
	}
	_, err := io.WriteString(j.to, "]")
	return err
}
