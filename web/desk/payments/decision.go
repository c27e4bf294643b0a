package payments

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
	"chequer/internal/casework"
	"chequer/internal/invoice"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// The decisions about an invoice, as their paths name them.
const (
	accept  = visit.Accept
	cancel  = visit.Cancel
	requote = visit.Requote
	decline = "decline" // declines the refund that the shopper asks for
	keep    = "keep"    // keeps a surplus
	release = "release" // undoes keep
	snooze  = visit.Snooze
)

// decisionResults maps decisions to the results that the page after a decision shows, see visit.Done.
var decisionResults = map[string]string{accept: "accepted", cancel: "cancelled", requote: "requoted", decline: "declined", keep: "kept", release: "released", snooze: "snoozed"}

// allows reports whether an invoice allows a decision.
func (v *page) allows(inv *invoice.Invoice, e *invoice.Evaluation, decision string) bool {
	d := v.Decisions(e)
	switch decision {
	case accept:
		return d.Accept
	case cancel:
		return d.Cancel
	case requote:
		return d.Requote
	case keep:
		return e.MayKeep()
	case release:
		return inv.Kept.MayUndo(v.Now().Add(inv.Clock))
	case snooze:
		return inv.NeedsDecision()
	}
	_, declinable := e.Declinable()
	return declinable
}

// refundDecisionLinks returns the links to the refunds of an invoice, and to the decisions that make a refund unnecessary
// or postpone it.
func (v *page) refundDecisionLinks(inv *invoice.Invoice, e *invoice.Evaluation) (links []desk.DecisionLink) {
	address := v.Below("/payments/" + inv.ID + "/")
	open := slices.ContainsFunc(inv.Refunds, invoice.Refund.Pending)
	refundable := slices.ContainsFunc(e.Balances(), e.MayRefund)
	switch {
	case open:
		links = append(links, desk.DecisionLink{Name: v.Text("desk.refund"), Text: v.Text("desk.refund.open.short"), URL: v.Below(refundPath(inv.ID)), Button: v.Text("desk.refund.open")})
	case refundable:
		links = append(links, desk.DecisionLink{Name: v.Text("desk.refund"), Text: v.Text("desk.refund.short"), URL: v.Below(refundPath(inv.ID)), Button: v.Text("desk.refund.prepare")})
	}
	if v.allows(inv, e, keep) {
		links = append(links, desk.DecisionLink{Name: v.Text("desk.keep"), Text: v.Text("desk.keep.short"), URL: address + keep, Button: v.Text("desk.keep.ask")})
	}
	if v.allows(inv, e, decline) {
		links = append(links, desk.DecisionLink{Name: v.Text("desk.decline"), Text: v.Text("desk.decline.short"), URL: address + decline, Button: v.Text("desk.decline.ask")})
	}
	if v.allows(inv, e, release) {
		links = append(links, desk.DecisionLink{Name: v.Text("desk.release"), Text: v.Text("desk.release.short"), URL: address + release, Button: v.Text("desk.release.ask")})
	}
	if v.allows(inv, e, snooze) {
		links = append(links, desk.DecisionLink{Name: v.Text("desk.snooze"), Text: v.Text("desk.snooze.short"), URL: address + snooze, Button: v.Text("desk.snooze.ask")})
	}
	return links
}

// decisionLinks returns the links to the decisions that the page of an invoice offers. An acceptance is
// offered only if it changes what the invoice is worth.
func (v *page) decisionLinks(inv *invoice.Invoice, d invoice.Decisions) []desk.DecisionLink {
	address := v.Below("/payments/" + inv.ID + "/")
	var links []desk.DecisionLink
	if d.Accept && (inv.NeedsDecision() || inv.State.Has(invoice.Underpaid)) {
		links = append(links, desk.DecisionLink{
			Name: v.Text("desk.accept"), Text: v.Text("desk.accept.short"), URL: address + accept, Button: v.Text("desk.accept.ask"), Default: inv.NeedsDecision() && !d.HighRisk,
		})
	}
	if d.Requote {
		links = append(links, desk.DecisionLink{
			Name: v.Text("desk.requote"), Text: v.Text("desk.requote.short"), URL: address + requote, Button: v.Text("desk.requote.ask", "Amount", v.Fiat(inv.State.Due)),
		})
	}
	if d.Cancel {
		links = append(links, desk.DecisionLink{Name: v.Text("desk.cancel.button"), Text: v.Text("desk.cancel.short"), URL: address + cancel, Button: v.Text("desk.cancel.ask")})
	}
	return links
}

// askToDecide shows the consequences of a decision before it is made.
func (v *page) askToDecide() error {
	inv, err := v.shopInvoice()
	if err != nil {
		return err
	}
	return v.showDecision(http.StatusOK, inv, "")
}

// showDecision shows the consequences of the decision in the path, or the invoice if it does not allow the
// decision.
func (v *page) showDecision(status int, inv *invoice.Invoice, problem string) error {
	decision := v.Param("decision")
	if decisionResults[decision] == "" {
		return echo.ErrNotFound
	}
	e := v.Invoices.Evaluation(inv)
	d := v.Decisions(e)
	if !v.allows(inv, e, decision) {
		return v.showPayment(http.StatusConflict, inv, v.Text("desk.problem.state"))
	}
	page := desk.Decision{
		Back: views.Link{Text: v.InvoiceName(inv.Terms.OrderID, inv.ID), URL: v.Below("/payments/" + inv.ID)}, Problem: problem,
		Action: v.Below("/payments/" + inv.ID + "/" + decision), Hidden: []desk.Hidden{{Name: "version", Value: strconv.FormatInt(inv.Version, 10)}},
	}
	switch decision {
	case accept:
		page.Heading, page.Button, page.Results = v.acceptance(inv, d)
	case cancel:
		page.Heading, page.Button, page.Results = v.cancellation(inv)
	case requote:
		page.Heading, page.Button, page.Results = v.newQuote(inv)
	case keep:
		page.Heading, page.Button, page.Results = v.keeping(inv)
		page.Fields = []desk.Field{v.reasonField(problem)}
	case decline:
		page.Heading, page.Button, page.Results = v.declining(inv)
		page.Fields = []desk.Field{v.reasonField(problem)}
	case release:
		page.Heading, page.Button = v.Text("desk.release.heading", "Amount", v.Fiat(inv.Kept.Amount)), v.Text("desk.release")
		page.Results = []desk.Result{{Shape: "ok", Text: v.Text("desk.release.short")}}
	case snooze:
		page.Heading, page.Button, page.Results = v.snoozing(inv)
		page.Choices = []desk.Choice{v.daysChoice(problem)}
	}
	var err error
	if page.Frame, err = v.paymentFrame(inv, page.Heading); err != nil {
		return err
	}
	return v.Show(status, desk.DecisionPage(page))
}

// acceptance returns the heading, the button and the consequences of an acceptance.
func (v *page) acceptance(inv *invoice.Invoice, d invoice.Decisions) (heading, button string, results []desk.Result) {
	price, received := inv.Terms.Price, d.Accepted.Paid
	becomes := v.Text("desk.accept.paid")
	if d.Accepted.Status != invoice.Paid {
		becomes = v.Text("desk.accept.pending")
	}
	results = []desk.Result{{Shape: "ok", Text: becomes}, {Shape: "ok", Text: v.Text("desk.accept.event")}, {Shape: "ok", Text: v.Text("desk.accept.receipt", "Price", v.Fiat(price))}}
	if waived := price.Sub(received); !waived.IsZero() {
		results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.accept.waived", "Amount", v.Fiat(waived))})
	}
	if d.AcceptedValue.Cmp(received) < 0 {
		results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.accept.worth", "Amount", v.Fiat(d.AcceptedValue))})
	}
	if v.DoubtOf(inv) == visit.IsLocked {
		results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.accept.locked")})
	}
	if d.LacksRate {
		results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.accept.unvalued")})
	}
	results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.accept.final")})
	return v.Text("desk.accept.heading", "Received", v.Fiat(received), "Price", v.Fiat(price)), v.Text("desk.accept"), results
}

// cancellation returns the heading, the button and the consequences of a cancellation.
func (v *page) cancellation(inv *invoice.Invoice) (heading, button string, results []desk.Result) {
	results = []desk.Result{{Shape: "ok", Text: v.Text("desk.cancel.page")}, {Shape: "ok", Text: v.Text("desk.cancel.event")}}
	if !inv.State.Paid.IsZero() {
		results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.cancel.received", "Amount", v.Fiat(inv.State.Paid))})
	}
	results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.cancel.final")})
	return v.Text("desk.cancel.heading", "Name", v.InvoiceName(inv.Terms.OrderID, inv.ID)), v.Text("desk.cancel.button"), results
}

// newQuote returns the heading, the button and the consequences of a new quote.
func (v *page) newQuote(inv *invoice.Invoice) (heading, button string, results []desk.Result) {
	due := v.Fiat(inv.State.Due)
	first := inv.Quotes[0]
	until := v.Clock(v.Now().Add(inv.Clock).Add(first.Until.Sub(first.From)))
	results = []desk.Result{
		{Shape: "ok", Text: v.Text("desk.requote.page", "Amount", due)}, {Shape: "ok", Text: v.Text("desk.requote.until", "Time", until)},
		{Shape: "ok", Text: v.Text("desk.requote.event")},
	}
	return v.Text("desk.requote.heading", "Amount", due), v.Text("desk.requote.button", "Amount", due), results
}

// decide makes a decision about the version of an invoice whose consequences the account has seen.
func (v *page) decide() error {
	inv, err := v.shopInvoice()
	if err != nil {
		return err
	}
	decision := v.Param("decision")
	e := v.Invoices.Evaluation(inv)
	d := v.Decisions(e)
	if decisionResults[decision] != "" && !v.seesCurrent(inv) {
		return v.showPayment(http.StatusConflict, inv, v.Text("desk.problem.stale"))
	}
	if decisionResults[decision] == "" || !v.allows(inv, e, decision) {
		return v.showDecision(http.StatusConflict, inv, "")
	}
	if !isReason(v.reason()) {
		return v.showDecision(http.StatusUnprocessableEntity, inv, v.Text("desk.problem.reason"))
	}
	if decision == accept && d.HighRisk {
		if err := v.Require(account.DecideHighRisk); err != nil {
			return err
		}
	}
	switch err := v.carryOut(decision, inv); {
	case errors.Is(err, invoice.ErrStale), errors.Is(err, invoice.ErrState), errors.Is(err, invoice.ErrNoSurplus):
		if inv, err = v.shopInvoice(); err != nil {
			return err
		}
		return v.showPayment(http.StatusConflict, inv, v.Text("desk.problem.stale"))
	case errors.Is(err, casework.ErrDays):
		return v.showDecision(http.StatusUnprocessableEntity, inv, v.Text("desk.snooze.problem"))
	case errors.Is(err, invoice.ErrTooLittle):
		return v.showDecision(http.StatusUnprocessableEntity, inv, v.Text("desk.problem.little"))
	case errors.Is(err, invoice.ErrTooMuch):
		return v.showDecision(http.StatusUnprocessableEntity, inv, v.Text("desk.problem.much"))
	case errors.Is(err, invoice.ErrNoRate), errors.Is(err, invoice.ErrUnreached), errors.Is(err, invoice.ErrUnwatched):
		return v.showDecision(http.StatusUnprocessableEntity, inv, v.Text("desk.problem.quote"))
	case err != nil:
		return err
	}
	if decision == snooze {
		return v.Done(v.BelowIn(visit.AttentionPath, inv.Mode == invoice.Test), decisionResults[decision])
	}
	return v.Done(v.Below("/payments/"+inv.ID), decisionResults[decision])
}

// carryOut makes a decision about the version of the invoice that was read.
func (v *page) carryOut(decision string, inv *invoice.Invoice) (err error) {
	ctx := v.Request().Context()
	switch decision {
	case accept:
		_, err = v.Invoices.Accept(ctx, inv.ID, v.Account.Name, inv.Version)
	case cancel:
		_, err = v.Invoices.Cancel(ctx, inv.ID, inv.Version)
	case requote:
		_, err = v.Invoices.Requote(ctx, inv.ID, invoice.Merchant, len(inv.Quotes))
	case keep:
		_, err = v.Invoices.KeepSurplus(ctx, inv.ID, v.Account.Name, v.reason(), inv.Version)
	case decline:
		_, err = v.Invoices.DeclineRefund(ctx, inv.ID, v.Account.Name, v.reason(), inv.Version)
	case release:
		_, err = v.Invoices.ReleaseSurplus(ctx, inv.ID, inv.Version)
	case snooze:
		err = v.Casework.Snooze(ctx, inv, v.days())
	}
	return err
}

// keeping returns the heading, the button and the consequences of keeping a surplus.
func (v *page) keeping(inv *invoice.Invoice) (heading, button string, results []desk.Result) {
	results = []desk.Result{
		{Shape: "ok", Text: v.Text("desk.keep.case")}, {Shape: "ok", Text: v.Text("desk.keep.page")}, {Shape: "warn", Text: v.Text("desk.keep.undo")},
	}
	return v.Text("desk.keep.heading", "Amount", v.Fiat(inv.State.Overpaid)), v.Text("desk.keep"), results
}

// declining returns the heading, the button and the consequences of declining a refund.
func (v *page) declining(inv *invoice.Invoice) (heading, button string, results []desk.Result) {
	results = []desk.Result{
		{Shape: "ok", Text: v.Text("desk.decline.case")}, {Shape: "ok", Text: v.Text("desk.decline.page")}, {Shape: "ok", Text: v.Text("desk.decline.event")},
		{Shape: "warn", Text: v.Text("desk.decline.final")},
	}
	return v.Text("desk.decline.heading", "Name", v.InvoiceName(inv.Terms.OrderID, inv.ID)), v.Text("desk.decline"), results
}

// reason returns the typed reason for a decision.
func (v *page) reason() string { return strings.TrimSpace(v.FormValue("reason")) }

// isReason reports whether a text can be stored as a reason.
func isReason(text string) bool { return len(text) <= maxReason && (text == "" || visit.IsText(text)) }

// reasonField returns the field for the reason of a decision.
func (v *page) reasonField(problem string) desk.Field {
	f := v.TextField("reason", "desk.reason", "desk.reason.hint", "")
	if problem != "" {
		f.Value = v.reason()
	}
	return f
}
