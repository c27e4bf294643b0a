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

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/wire"
)

// pageWriteTimeout is the time that the caller may take to read a page of an export.
const pageWriteTimeout = time.Minute

// exportInvoices handles GET invoices/export: all invoices that match a filter, newest first. It reads
// and writes the invoices page by page, so that its use of memory does not depend on their number.
func (s *server) exportInvoices(c echo.Context, k call) error {
	f, format := ownInvoices(k), ""
	style, parameters := wire.CSVStyle{}, filters(&f)
	maps.Copy(parameters, map[string]parameter{
		"format":    word(&format, "csv", "json"),
		"delimiter": word(&style.Delimiter, "comma", "semicolon", "tab"),
		"decimal":   word(&style.Decimal, "point", "comma"),
		"bom":       word(&style.BOM, "true", "false"),
		"timezone":  zone(&style.Zone),
	})
	if err := query(c.Request().URL.RawQuery, parameters); err != nil {
		return err
	}
	switch {
	case format == "":
		return invalid("format", "is required")
	case format != "csv" && style != (wire.CSVStyle{}):
		return badRequest("invalid_format", "delimiter, decimal, bom and timezone are for the format csv")
	}
	ctx := c.Request().Context()
	page, err := s.Invoices.Invoices(ctx, f, invoice.Position{}, maxPage)
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set("Content-Disposition", `attachment; filename="invoices.`+format+`"`)
	var out sheet = newJSONSheet(c.Response())
	header.Set("Content-Type", "application/json")
	if format == "csv" {
		out = wire.NewCSV(c.Response(), style)
		header.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	}
	c.Response().WriteHeader(http.StatusOK)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	if err := s.export(ctx, c, out, f, page); err != nil {
		s.Log.Warn("export aborted", "error", err)
		panic(http.ErrAbortHandler) // a normal return would end the answer as if it were complete
	}
	return nil
}

// export writes a page and all following pages.
func (s *server) export(ctx context.Context, c echo.Context, out sheet, f invoice.Filter, page []*invoice.Invoice) error {
	control := http.NewResponseController(c.Response())
	for {
		_ = control.SetWriteDeadline(time.Now().Add(pageWriteTimeout)) // fails only if the connection has no write deadline
		for _, inv := range page {
			if err := out.Write(wire.Resource(s.Invoices, inv, nil)); err != nil {
				return err
			}
		}
		if len(page) < maxPage {
			return out.End()
		}
		var err error
		if page, err = s.Invoices.Invoices(ctx, f, page[len(page)-1].Position(), maxPage); err != nil {
			return err
		}
	}
}

// zone parses the name of a time zone. It refuses "Local", the zone of the server.
func zone(into **time.Location) parameter {
	return func(value string) error {
		location, err := time.LoadLocation(value)
		if err != nil || value == "" || value == "Local" {
			return errors.New("must be the name of a time zone such as Europe/Vienna or UTC")
		}
		*into = location
		return nil
	}
}

// sheet is a file to which invoices are written one by one.
type sheet interface {
	Write(api.Resource) error
	End() error
}

// jsonSheet writes a JSON array of resources.
type jsonSheet struct {
	to     io.Writer
	before string // text before the next resource
}

func newJSONSheet(to io.Writer) *jsonSheet { return &jsonSheet{to: to, before: "["} }

func (s *jsonSheet) Write(r api.Resource) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = s.to.Write(append([]byte(s.before), text...))
	s.before = ",\n"
	return err
}

func (s *jsonSheet) End() error {
	if s.before == "[" { // no invoice was written
		_, err := io.WriteString(s.to, "[]")
		return err
	}
	_, err := io.WriteString(s.to, "]")
	return err
}
