package payments

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
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
)

// decided are the results that the page of the invoice shows after a decision.
var decided = map[string]string{accept: "accepted", cancel: "cancelled", requote: "requoted"}

// allows reports whether an invoice allows a decision.
func allows(d invoice.Decisions, decision string) bool {
	return decision == accept && d.Accept || decision == cancel && d.Cancel || decision == requote && d.Requote
}

// decisionLinks returns the links to the decisions that the page of an invoice offers. An acceptance is
// offered only if it changes what the invoice is worth.
func (v *page) decisionLinks(inv *invoice.Invoice, d invoice.Decisions) []desk.DecisionLink {
	at := v.Below("/payments/" + inv.ID + "/")
	var links []desk.DecisionLink
	if d.Accept && (inv.NeedsDecision() || inv.State.Has(invoice.Underpaid)) {
		links = append(links, desk.DecisionLink{
			Name: v.Text("desk.accept"), Text: v.Text("desk.accept.short"), URL: at + accept, Button: v.Text("desk.accept.ask"), Default: inv.NeedsDecision() && !d.HighRisk,
		})
	}
	if d.Requote {
		links = append(links, desk.DecisionLink{
			Name: v.Text("desk.requote"), Text: v.Text("desk.requote.short"), URL: at + requote, Button: v.Text("desk.requote.ask", "Amount", v.Fiat(inv.State.Due)),
		})
	}
	if d.Cancel {
		links = append(links, desk.DecisionLink{Name: v.Text("desk.cancel.button"), Text: v.Text("desk.cancel.short"), URL: at + cancel, Button: v.Text("desk.cancel.ask")})
	}
	return links
}

// askToDecide shows the consequences of a decision before it is made.
func (v *page) askToDecide() error {
	inv, err := v.ownInvoice()
	if err != nil {
		return err
	}
	return v.showDecision(http.StatusOK, inv, "")
}

// showDecision shows the consequences of the decision in the path, or the invoice if it does not allow the
// decision.
func (v *page) showDecision(status int, inv *invoice.Invoice, problem string) error {
	decision := v.Param("decision")
	if decided[decision] == "" {
		return echo.ErrNotFound
	}
	d := v.Decisions(v.Invoices.Evaluation(inv))
	if !allows(d, decision) {
		return v.showPayment(http.StatusConflict, inv, v.Text("desk.problem.state"))
	}
	page := desk.Decision{
		Back: views.Link{Text: v.NameOf(inv.Terms.OrderID, inv.ID), URL: v.Below("/payments/" + inv.ID)}, Problem: problem,
		Action: v.Below("/payments/" + inv.ID + "/" + decision), Hidden: []desk.Hidden{{Name: "version", Value: strconv.FormatInt(inv.Version, 10)}},
	}
	switch decision {
	case accept:
		page.Heading, page.Button, page.Results = v.acceptance(inv, d)
	case cancel:
		page.Heading, page.Button, page.Results = v.cancellation(inv)
	case requote:
		page.Heading, page.Button, page.Results = v.newQuote(inv)
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
	return v.Text("desk.cancel.heading", "Name", v.NameOf(inv.Terms.OrderID, inv.ID)), v.Text("desk.cancel.button"), results
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
	inv, err := v.ownInvoice()
	if err != nil {
		return err
	}
	decision := v.Param("decision")
	d := v.Decisions(v.Invoices.Evaluation(inv))
	if seen, _ := strconv.ParseInt(v.FormValue("version"), 10, 64); decided[decision] != "" && seen != inv.Version {
		return v.showPayment(http.StatusConflict, inv, v.Text("desk.problem.stale"))
	}
	if !allows(d, decision) {
		return v.showDecision(http.StatusConflict, inv, "")
	}
	if decision == accept && d.HighRisk {
		if err := v.Require(account.DecideHighRisk); err != nil {
			return err
		}
	}
	switch err := v.carryOut(decision, inv); {
	case errors.Is(err, invoice.ErrStale), errors.Is(err, invoice.ErrState):
		if inv, err = v.ownInvoice(); err != nil {
			return err
		}
		return v.showPayment(http.StatusConflict, inv, v.Text("desk.problem.stale"))
	case errors.Is(err, invoice.ErrTooLittle):
		return v.showDecision(http.StatusUnprocessableEntity, inv, v.Text("desk.problem.little"))
	case errors.Is(err, invoice.ErrNoRate), errors.Is(err, invoice.ErrUnreached), errors.Is(err, invoice.ErrUnwatched):
		return v.showDecision(http.StatusUnprocessableEntity, inv, v.Text("desk.problem.quote"))
	case err != nil:
		return err
	}
	return v.Done(v.Below("/payments/"+inv.ID), decided[decision])
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
	}
	return err
}
