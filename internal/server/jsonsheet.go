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
