package present

import (
	"cmp"
	"strings"
	"time"

	"chequer/internal/receipt"
	"chequer/views"
)

// Receipt returns the page of a paid invoice as a document, with the same texts and facts, but without
// links and forms. paidAt is the time at which the invoice was paid.
func Receipt(p views.Payment, paidAt time.Time) receipt.Receipt {
	document := receipt.Receipt{
		Title: p.Title, Lang: p.Tag, Shop: p.Shop, Label: strings.Join(p.Label, " "), Banner: p.Test,
		Due: receipt.Due{Label: p.Due.Label, Amount: p.Due.Amount, Line: cmp.Or(p.Due.Coins, p.Due.LineText())}, Heading: p.Heading, Footing: p.Footing, ShopTexts: []string{p.Line, p.Support.Text},
		Summary:  receipt.Summary{Heading: p.Summary.Heading, Text: p.Summary.Text, Rows: []receipt.Fact{{Label: p.Text("summary.total"), Value: p.Summary.Total}}},
		Replaced: p.Text("receipt.replaced", "Mark", "\ufffd"),
		At:       paidAt,
	}
	if p.Summary.VAT.Label != "" {
		document.Summary.Rows = append(document.Summary.Rows, receipt.Fact{Label: p.Summary.VAT.Label, Value: p.Summary.VAT.Amount})
	}
	if p.Summary.Words != "" {
		document.Summary.Rows = append(document.Summary.Rows, receipt.Fact{Label: p.Text("summary.words"), Value: p.Summary.Words})
	}
	for _, f := range p.Facts {
		document.Facts = append(document.Facts, receipt.Fact{Label: f.Label, Value: f.Value})
	}
	if p.Refund.Saved != "" {
		document.Facts = append(document.Facts, receipt.Fact{Label: p.Refund.Label, Value: p.Refund.Saved})
	}
	for _, n := range p.Notes {
		if n.Kind == "ok" { // notes about a surplus or a refund are for the page only
			continue
		}
		note := receipt.Note{Strong: n.Strong, Text: n.Text}
		if n.Until.Text != "" {
			note.Text = strings.Join([]string{n.Text, n.Until.Text, n.After}, " ")
		}
		document.Notes = append(document.Notes, note)
	}
	return document
}
