package payments

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/money"
	"chequer/web/desk/visit"
)

// inFiat is the value, in the form, for a part of the amount that is typed in the currency of the invoice.
const inFiat = "fiat"

// The changes of a refund, as their paths name them.
const (
	sendRefund   = "sent"
	cancelRefund = "cancel"
	renewRefund  = "renew"
	checkRefund  = "checked"
)

// maxReason is the maximum length of a reason, in bytes.
const maxReason = 500

// seesCurrent reports whether the form was loaded with the current version of the invoice.
func (v *page) seesCurrent(inv *invoice.Invoice) bool {
	seen, _ := strconv.ParseInt(v.FormValue("version"), 10, 64)
	return seen == inv.Version
}

// prepareRefund prepares a refund. Only an account that has confirmed its sign-in can give an address.
func (v *page) prepareRefund() error {
	inv, err := v.shopInvoice()
	if err != nil {
		return err
	}
	if !v.seesCurrent(inv) {
		return v.refuseStale()
	}
	fault := refundFault{typedAddress: strings.TrimSpace(v.FormValue("address")), typedAmount: visit.DecimalPoint(strings.TrimSpace(v.FormValue("part"))), chosen: v.FormValue("amount")}
	d := invoice.RefundDraft{Address: fault.typedAddress, By: v.Account.Name, Again: true, Seen: inv.Version}
	if d.Address != "" {
		if err := v.Require(account.DecideHighRisk); err != nil {
			return err
		}
	}
	if fault.part = v.readAmount(inv, &d, fault); fault.part != "" {
		return v.showRefund(http.StatusUnprocessableEntity, inv, fault)
	}
	_, made, err := v.Invoices.CreateRefund(v.Request().Context(), inv.ID, d)
	if err != nil {
		return v.refuseRefund(err, inv, fault)
	}
	if made.State == invoice.RefundAsked {
		return v.Done(v.Below(refundPath(inv.ID)), "refund-asked")
	}
	return v.Done(v.Below(refundPath(inv.ID)), "refund-ready")
}

// readAmount reads the amount of a new refund from the form into d. It returns the problem with the amount; "" if there
// is none.
func (v *page) readAmount(inv *invoice.Invoice, d *invoice.RefundDraft, fault refundFault) (problem string) {
	kind, asset, _ := strings.Cut(fault.chosen, ":")
	b, received := v.Invoices.Evaluation(inv).Balance(asset)
	if !received {
		return v.Text("desk.refund.problem.amount")
	}
	d.Asset, d.Kind = asset, invoice.RefundKind(kind)
	var err error
	switch kind {
	case string(invoice.RefundReceived), string(invoice.RefundSurplus):
		if fault.typedAmount != "" {
			return v.Text("desk.refund.problem.unused")
		}
	case string(invoice.RefundPart):
		d.Amount, err = money.Parse(fault.typedAmount, b.Received.Currency())
	case inFiat:
		d.Kind = invoice.RefundPart
		d.Fiat, err = money.Parse(fault.typedAmount, inv.Terms.Price.Currency())
	default:
		return v.Text("desk.refund.problem.amount")
	}
	switch {
	case errors.Is(err, money.ErrPrecision):
		return v.Text("desk.refund.problem.decimals")
	case err != nil:
		return v.Text("desk.refund.problem.number")
	}
	return ""
}

// refundProblems are the errors about the amount of a refund, with the keys of their texts.
var refundProblems = []struct {
	err error
	id  string
}{
	{invoice.ErrOverRefund, "desk.refund.problem.over"},
	{invoice.ErrTooLittle, "desk.refund.problem.little"},
	{invoice.ErrNoRate, "desk.refund.problem.rate"},
	{invoice.ErrNoSurplus, "desk.refund.problem.amount"},
	{invoice.ErrNothingReceived, "desk.refund.problem.unconfirmed"},
	{invoice.ErrRefundAsset, "desk.refund.problem.amount"},
}

// refuseRefund shows the reason why a refund was not prepared or changed. It does not show a private key again.
func (v *page) refuseRefund(err error, inv *invoice.Invoice, fault refundFault) error {
	switch {
	case errors.Is(err, invoice.ErrStale), errors.Is(err, invoice.ErrState):
		return v.refuseStale()
	case errors.Is(err, keys.ErrPrivateKey):
		fault.typedAddress, fault.address = "", v.Text("desk.refund.problem.private")
	case errors.Is(err, invoice.ErrPaymentAddress):
		fault.address = v.Text("desk.refund.problem.own")
	case errors.Is(err, invoice.ErrTokenContract):
		fault.address = v.Text("desk.refund.problem.contract")
	case errors.Is(err, keys.ErrAddress), errors.Is(err, keys.ErrNetwork):
		fault.address = v.Text("desk.refund.problem.address", "Fault", err.Error())
	case errors.Is(err, invoice.ErrTransaction):
		fault.tx = v.Text("desk.refund.problem.tx")
	case errors.Is(err, invoice.ErrPaymentHash):
		fault.tx = v.Text("desk.refund.problem.hash")
	case errors.Is(err, invoice.ErrOwnTransaction):
		fault.tx = v.Text("desk.refund.problem.tx.own")
	case errors.Is(err, invoice.ErrUsedTransaction):
		fault.tx = v.Text("desk.refund.problem.tx.used")
	default:
		for _, p := range refundProblems {
			if errors.Is(err, p.err) {
				fault.part = v.Text(p.id)
			}
		}
		if fault.part == "" {
			return err
		}
	}
	return v.showRefund(http.StatusUnprocessableEntity, inv, fault)
}

// refuseStale shows the refunds of the present version of the invoice, because the form was loaded with an older version.
func (v *page) refuseStale() error {
	inv, err := v.shopInvoice()
	if err != nil {
		return err
	}
	return v.showRefund(http.StatusConflict, inv, refundFault{problem: v.Text("desk.problem.stale")})
}

// changeRefund makes the change of a refund that the path names.
func (v *page) changeRefund() error {
	inv, err := v.shopInvoice()
	if err != nil {
		return err
	}
	ctx, ref, by, seen := v.Request().Context(), v.Param("refund"), v.Account.Name, inv.Version
	fault := refundFault{ref: ref, typedTx: strings.TrimSpace(v.FormValue("tx-" + ref))}
	result := map[string]string{sendRefund: "refund-sent", cancelRefund: "refund-cancelled", renewRefund: "refund-renewed", checkRefund: "refund-checked"}[v.Param("change")]
	switch {
	case result == "":
		return echo.ErrNotFound
	case !v.seesCurrent(inv):
		return v.refuseStale()
	}
	switch v.Param("change") {
	case sendRefund:
		_, err = v.Invoices.SendRefund(ctx, inv.ID, ref, fault.typedTx, by, seen)
	case cancelRefund:
		_, err = v.Invoices.CancelRefund(ctx, inv.ID, ref, by, "", seen)
	case renewRefund:
		_, err = v.Invoices.RenewRefund(ctx, inv.ID, ref, by, seen)
	case checkRefund:
		_, err = v.Invoices.CheckRefund(ctx, inv.ID, ref, by, seen)
	}
	switch {
	case errors.Is(err, invoice.ErrNoRefund):
		return echo.ErrNotFound
	case errors.Is(err, invoice.ErrOverRefund):
		return v.showRefund(http.StatusConflict, inv, refundFault{problem: v.Text("desk.refund.problem.over")})
	case errors.Is(err, invoice.ErrNoRate):
		return v.showRefund(http.StatusUnprocessableEntity, inv, refundFault{problem: v.Text("desk.refund.problem.rate")})
	case errors.Is(err, invoice.ErrRequestAmount):
		return v.showRefund(http.StatusConflict, inv, refundFault{problem: v.Text("desk.refund.problem.request")})
	case err != nil:
		return v.refuseRefund(err, inv, fault)
	}
	return v.Done(v.Below(refundPath(inv.ID)), result)
}
