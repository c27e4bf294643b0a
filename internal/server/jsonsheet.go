package server

import (
	"encoding/json"
	"io"

	"chequer/internal/invoice"
	"chequer/internal/wire"
)

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
func (s *jsonSheet) Write(inv *invoice.Invoice) error {
	text, err := json.Marshal(wire.Resource(s.invoices, inv, nil))
	if err != nil {
		return err
	}
	_, err = s.to.Write(append([]byte(s.before), text...))
	s.before = ",\n"
	return err
}

// End ends the array.
func (s *jsonSheet) End() error {
	if s.before == "[" { // no invoice was written
		_, err := io.WriteString(s.to, "[]")
		return err
	}
	_, err := io.WriteString(s.to, "]")
	return err
}
