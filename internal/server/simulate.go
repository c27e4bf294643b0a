package server

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// simulationTimeout is the maximum time that a simulation waits until the watcher has observed it.
const simulationTimeout = 2 * time.Second

var errLive = &problem{status: http.StatusForbidden, code: "live_invoice", message: "Only test invoices can be simulated"}

// simulate handles POST test/invoices/{id}/simulate: it carries out an action of a shopper, a miner or
// an attacker on the simulated network.
func (s *server) simulate(c echo.Context, k call) error {
	r, err := parseSimulation(c, k)
	if err != nil {
		return err
	}
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	if inv.Mode != invoice.Test {
		return errLive
	}
	ctx := c.Request().Context()
	if err := s.useNonce(ctx, k); err != nil {
		return err
	}
	if inv, err = s.simulateAction(ctx, inv, r); err != nil {
		return err
	}
	return s.show(c, k, inv, nil)
}

// parseSimulation returns the simulation that the body of a call describes.
func parseSimulation(c echo.Context, k call) (api.SimulateRequest, error) {
	r, err := request[api.SimulateRequest](c, k)
	switch {
	case err != nil:
	case !slices.Contains(api.SimulateActions, r.Action):
		err = invalid("action", "must be one of "+strings.Join(api.SimulateActions, ", "))
	case (r.Action == api.SimulateClock) != (r.Seconds > 0):
		err = invalid("seconds", "is required for the action clock, and not allowed for others")
	}
	return r, err
}

// simulateAction carries out an action, waits up to simulationTimeout until the watcher has observed it, and returns the
// invoice. It does not wait after the action clock.
func (s *server) simulateAction(ctx context.Context, inv *invoice.Invoice, r api.SimulateRequest) (*invoice.Invoice, error) {
	method, err := chosenMethod(inv, r.PaymentMethod)
	if err != nil {
		return nil, err
	}
	switch r.Action {
	case api.SimulateClock:
		return s.moveClock(ctx, inv, time.Duration(r.Seconds)*time.Second)
	case api.SimulateLate:
		if _, err = s.payee(inv, method); err != nil { // the price must not end for nothing
			return nil, err
		}
		if inv, err = s.Invoices.SkipQuote(ctx, inv.ID); err != nil {
			return nil, fmt.Errorf("simulate late: %w", err)
		}
	}
	err = s.perform(ctx, inv, method, r.Action)
	switch {
	case errors.Is(err, simnet.ErrUnknownTx) || errors.Is(err, simnet.ErrSpent):
		return nil, errNothingToDo // the network has changed since the watcher's last scan
	case errors.Is(err, simnet.ErrUnpayable):
		return nil, errUnpayable
	case err != nil:
		return nil, fmt.Errorf("simulate %s: %w", r.Action, err)
	}
	return s.waitForTransfers(ctx, inv)
}

// waitForTransfers waits up to simulationTimeout until the transfers of an invoice differ from those of inv, and returns the
// newest invoice. Other changes, such as an added payment request, do not end the wait.
func (s *server) waitForTransfers(ctx context.Context, inv *invoice.Invoice) (*invoice.Invoice, error) {
	ctx, cancel := context.WithTimeout(ctx, simulationTimeout)
	defer cancel()
	newest := inv
	for {
		newer, err := s.Invoices.Wait(ctx, inv.ID, newest.Version, simulationTimeout)
		switch {
		case errors.Is(err, invoice.ErrNotModified):
			return s.Invoices.Invoice(context.WithoutCancel(ctx), inv.ID)
		case err != nil:
			return nil, err
		case !slices.EqualFunc(newer.Transfers, inv.Transfers, sameObservation):
			return newer, nil
		}
		newest = newer
	}
}

// sameObservation reports whether the network shows the same of a transfer in two states of an invoice.
func sameObservation(a, b invoice.Transfer) bool {
	return a.ID == b.ID && a.Presence == b.Presence && a.Confirmations == b.Confirmations &&
		(a.Block == nil) == (b.Block == nil) && a.Amount.Equal(b.Amount)
}

var errClockTooFar = &problem{status: http.StatusConflict, code: "clock_too_far", message: "The invoice's clock can be at most one year ahead"}

// moveClock moves an invoice's own clock and returns the resulting invoice.
func (s *server) moveClock(ctx context.Context, inv *invoice.Invoice, shift time.Duration) (*invoice.Invoice, error) {
	inv, err := s.Invoices.MoveClock(ctx, inv.ID, shift)
	if errors.Is(err, invoice.ErrState) {
		return nil, errClockTooFar
	}
	return inv, err
}

var errNothingToDo = &problem{status: http.StatusConflict, code: "nothing_to_do", message: "The invoice has no payment to which the action applies"}

var errUnpayable = &problem{
	status: http.StatusConflict, code: "request_unpayable",
	message: "The payment request is paid, cancelled or at its end, or the amount is less than it asks for",
}

// perform carries out an action on the network.
func (s *server) perform(ctx context.Context, inv *invoice.Invoice, m invoice.Method, action string) error {
	switch action {
	case api.SimulateConfirm:
		return s.confirm(ctx, inv)
	case api.SimulateReplace:
		if waiting := transactions(inv, isWaiting); len(waiting) > 0 {
			return s.Simnet.Replace(ctx, waiting[len(waiting)-1])
		}
		return errNothingToDo
	case api.SimulateReorganise:
		if mined := transactions(inv, canLeave(inv)); len(mined) > 0 {
			return s.Simnet.Reorganise(ctx, mined)
		}
		return errNothingToDo
	}
	amount := simulatedAmount(inv, m, action)
	if amount.IsZero() {
		return errNothingToDo
	}
	script, err := s.payee(inv, m)
	if err != nil {
		return err
	}
	_, err = s.Simnet.Pay(ctx, m.Asset, script, amount)
	return err
}

// payee returns the script to which a method is paid. It is the payment hash of the valid payment request, or of the newest one if
// none is valid, since a shopper may pay late.
func (s *server) payee(inv *invoice.Invoice, m invoice.Method) (script string, err error) {
	if !m.Asset.Requested() {
		return m.Destination.Script, nil
	}
	if r, ok := s.Invoices.Evaluation(inv).Request(m, s.Invoices.Now()); ok {
		return r.Script, nil
	}
	for _, r := range slices.Backward(inv.PaymentRequests()) {
		if r.Asset == m.Asset.Code {
			return r.Script, nil
		}
	}
	return "", errNothingToDo
}

// confirm creates a block with the invoice's unconfirmed transactions, or an empty block if some of
// its transactions need more confirmations.
func (s *server) confirm(ctx context.Context, inv *invoice.Invoice) error {
	waiting := transactions(inv, isWaiting)
	shallow := transactions(inv, func(p invoice.Payment) bool { return isMined(p) && !p.Final() })
	if len(waiting) == 0 && len(shallow) == 0 {
		return errNothingToDo
	}
	return s.Simnet.Confirm(ctx, waiting)
}

// chosenMethod returns the payment method with the given code that the newest quote prices, or the first one that it
// prices if code is empty.
func chosenMethod(inv *invoice.Invoice, code string) (invoice.Method, error) {
	var codes []string
	for _, m := range inv.Methods {
		if _, offered := inv.Quote().Price(m.Asset.Code); !offered {
			continue
		}
		if code == "" || code == m.Asset.Code {
			return m, nil
		}
		codes = append(codes, m.Asset.Code)
	}
	return invoice.Method{}, invalid("payment_method", "must be one of "+strings.Join(codes, ", "))
}

// shownDecimals is the maximum number of decimals of an amount that a shopper is asked for.
const shownDecimals = 8

// simulatedAmount returns the amount of a simulated payment: the amount due, or the whole price if
// nothing is due. It is 60 % of that for the action under, and 110 % for the action over.
func simulatedAmount(inv *invoice.Invoice, m invoice.Method, action string) money.Amount {
	rest := inv.Remaining(m)
	if price, _ := inv.Quote().Price(m.Asset.Code); rest.IsZero() {
		rest = price.Expected
	}
	switch action {
	case api.SimulateUnder:
		coin := m.Asset.Currency
		shown := money.Currency{Code: coin.Code, Decimals: min(shownDecimals, coin.Decimals)}
		// The amount must not reach the price by rounding. The second call only sets the currency.
		part := money.RoundDown(new(big.Rat).Mul(rest.Rat(), big.NewRat(60, 100)), shown)
		return money.RoundDown(part.Rat(), coin)
	case api.SimulateOver:
		return rest.Scale(big.NewRat(110, 100), shownDecimals)
	}
	return rest
}

// transactions returns the transactions of the invoice's payments for which pick is true, each
// once, newest last.
func transactions(inv *invoice.Invoice, pick func(invoice.Payment) bool) []string {
	var txs []string
	for _, p := range inv.Payments() {
		if pick(p) && !slices.Contains(txs, p.Tx) {
			txs = append(txs, p.Tx)
		}
	}
	return txs
}

func isWaiting(p invoice.Payment) bool {
	return p.Presence == invoice.Present && p.Block == nil && p.State != invoice.PaymentReplaced
}

func isMined(p invoice.Payment) bool { return p.Presence == invoice.Present && p.Block != nil }

// canLeave returns a function that reports whether a payment is in a block that a reorganisation can remove. A payment by
// Lightning is final.
func canLeave(inv *invoice.Invoice) func(invoice.Payment) bool {
	return func(p invoice.Payment) bool {
		m, _ := inv.Method(p.Network, p.Asset)
		return isMined(p) && !m.Asset.Requested()
	}
}
