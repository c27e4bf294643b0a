package invoice

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// RefundAddress is the address for a refund that the shopper gave. The zero value means that there is none.
type RefundAddress struct {
	Asset   string // code
	Address string
	// By is "shopper" if the address was given on a page of this server, or the identifier of the API key of another
	// page; "" if that was not recorded.
	By string
}

// isSame reports whether two addresses are the same. The actors that gave them may differ.
func (r RefundAddress) isSame(o RefundAddress) bool {
	return r.Asset == o.Asset && r.Address == o.Address
}

// IsZero reports whether there is no refund address.
func (r RefundAddress) IsZero() bool { return r == RefundAddress{} }

// SetRefundAddress stores the address for a refund in an asset that was received; by is as RefundAddress.By. The
// shopper can set it once, and with it asks for a refund of the money in this asset that waits for a decision.
// Refunds that wait for the address become ready. The errors are ErrNotFound, ErrNothingReceived, ErrRefundAsset, ErrRefundSet,
// ErrPaymentAddress, ErrTokenContract, the errors of keys.ParseAddress, also for a payment request that has ended, asks
// for another amount or pays another refund, and keys.ErrPrivateKey if the text contains a private key. The shopper can replace a payment request
// that ended before the refund was sent, or that a refund cannot be paid to.
func (s *Service) SetRefundAddress(ctx context.Context, id, by, asset, address string) (*Invoice, error) {
	inv, err := s.storage.Invoice(ctx, id)
	if err != nil {
		return nil, err
	}
	to, err := s.parseRefundAddress(ctx, inv, asset, address)
	if err != nil {
		return nil, err
	}
	ref, rates := s.newRefundID(), s.rates()
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		given := RefundAddress{Asset: asset, Address: to.Address, By: by}
		former := inv.RefundAddress
		if former.isSame(given) {
			return nil
		}
		if !former.IsZero() && (former.Asset != asset || !inv.mayReplaceAddress(s.now())) {
			return ErrRefundSet
		}
		inv.RefundAddress = given
		now := s.now().Add(inv.Clock)
		waited := false
		for i := range inv.Refunds {
			r := &inv.Refunds[i]
			if !r.Open() || r.Asset != asset || r.Address != "" && !(r.Address == former.Address && requestEnded(r.Address, s.now())) {
				continue
			}
			if err := s.checkPayable(inv, *r, to.Address); err != nil {
				return err
			}
			waited = true
			r.Address, r.Script, r.AddressBy = to.Address, to.Script, by
			if !r.Requested() {
				r.AnsweredAt, r.State, r.Prepared = now, RefundReady, Mark{r.Asked.By, now}
			}
		}
		b, received := inv.Evaluation().Balance(asset)
		if waited || !received || inv.undecided(b, inv.State).IsZero() {
			return nil
		}
		r := s.newRefund(inv, b, rates)
		r.ID, r.State, r.Asked = ref, RefundAsked, Mark{string(Shopper), now}
		r.Address, r.Script, r.AddressBy = to.Address, to.Script, by
		r.setAmount(inv.undecided(b, inv.State))
		inv.Refunds = append(inv.Refunds, r)
		return s.checkPayable(inv, r, to.Address)
	})
}

// mayReplaceAddress reports whether a refund cannot be paid to the refund address: it is a payment request that ended at a time on
// the real clock, and was not paid, or a refund waits for another address.
func (inv *Invoice) mayReplaceAddress(now time.Time) bool {
	given := inv.RefundAddress
	isPaid := slices.ContainsFunc(inv.Refunds, func(r Refund) bool { return r.Paid() && r.Address == given.Address })
	return requestEnded(given.Address, now) && !isPaid ||
		slices.ContainsFunc(inv.Refunds, func(r Refund) bool { return r.Pending() && r.Address == "" && r.Asset == given.Asset })
}

// requestEnded reports whether an address is a payment request that has ended at a time on the real clock.
func requestEnded(address string, now time.Time) bool {
	_, r, err := chain.ReadRequest(address)
	return err == nil && !now.Before(r.Ends())
}

// RequestEnd returns the end of the payment request to which an open refund is paid, and whether it has ended. A refund to
// another address has no end.
func (s *Service) RequestEnd(r Refund) (end time.Time, ended bool) {
	_, request, err := chain.ReadRequest(r.Address)
	if err != nil || !r.Open() {
		return time.Time{}, false
	}
	return request.Ends(), requestEnded(r.Address, s.now())
}

// RefundLink returns the payment link of a refund for the merchant's wallet, and false if the refund must not be paid now:
// it is not ready, the time for which its amount is valid has ended, the refunds exceed what was received, because a payment was
// reverted, or its payment request has ended.
func (s *Service) RefundLink(e *Evaluation, r Refund, label string) (chain.Link, bool) {
	a, known := s.KnownAsset(r.Network, r.Asset)
	b, _ := e.Balance(r.Asset)
	if _, ended := s.RequestEnd(r); !known || ended || r.State != RefundReady || r.Stale(s.now().Add(e.inv.Clock)) || !b.Excess().IsZero() {
		return chain.Link{}, false
	}
	return a.Link(r.Address, r.Amount, label), true
}

// checkPayable returns keys.ErrAddress with the reason if a refund of an invoice cannot be paid to an address now: the address is a
// payment request that has ended, that asks for another amount, or to which another refund is paid, or one of Bitcoin, which cannot
// transfer the amount.
func (s *Service) checkPayable(inv *Invoice, refund Refund, address string) error {
	amount := refund.Amount
	a, _ := s.KnownAsset(refund.Network, refund.Asset)
	to, r, err := chain.ReadRequest(address)
	switch {
	case err != nil && a.Requested() && amount.Cmp(a.AddressDust(address)) < 0:
		return fmt.Errorf("%w: Bitcoin cannot transfer %s %s: want a Lightning address or a payment request", keys.ErrAddress, amount, amount.Currency().Code)
	case err != nil:
		return nil // not a payment request
	case requestEnded(address, s.now()):
		return fmt.Errorf("%w: the payment request ended at %s", keys.ErrAddress, r.Ends().UTC().Format("15:04 MST on 2 January 2006"))
	case slices.ContainsFunc(inv.Refunds, func(o Refund) bool { return o.Takes() && o.ID != refund.ID && o.Script == to.Script }):
		return fmt.Errorf("%w: another refund is paid to the payment request, which can be paid once only", keys.ErrAddress)
	}
	wanted, err := chain.Ask{Amount: amount}.MilliSatoshi()
	if r.MilliSatoshi != 0 && (err != nil || r.MilliSatoshi != wanted) {
		return fmt.Errorf("%w: the payment request asks for another amount than the %s %s of the refund", keys.ErrAddress, amount, amount.Currency().Code)
	}
	return nil
}

// parseRefundAddress parses and checks a refund address.
func (s *Service) parseRefundAddress(ctx context.Context, inv *Invoice, asset, text string) (chain.Destination, error) {
	var none chain.Destination
	received := inv.Received()
	i := slices.IndexFunc(received, func(t Transfer) bool { return t.Asset == asset })
	switch {
	case len(received) == 0:
		return none, ErrNothingReceived
	case i < 0:
		return none, ErrRefundAsset
	case keys.LooksPrivate(text):
		return none, keys.ErrPrivateKey
	}
	reader, ok := s.addressReader(received[i].Network)
	a, known := s.KnownAsset(received[i].Network, asset)
	if !ok || !known {
		return none, ErrState
	}
	text = a.Address(text)
	if keys.LooksPrivate(text) {
		return none, keys.ErrPrivateKey
	}
	to, err := reader.ReadAddress(asset, text)
	if err != nil {
		return none, err
	}
	if s.isContract(to.Address) {
		return none, ErrTokenContract
	}
	return to, s.checkNoPaymentAddress(ctx, inv.Mode, to.Address)
}

// checkNoPaymentAddress returns ErrPaymentAddress if an invoice is paid at the address, on any network: the refund would
// count as its payment.
func (s *Service) checkNoPaymentAddress(ctx context.Context, mode Mode, address string) error {
	for _, script := range s.Scripts(mode, address) {
		isOwn, err := s.hasScript(ctx, script)
		switch {
		case err != nil:
			return fmt.Errorf("check refund address: %w", err)
		case isOwn:
			return ErrPaymentAddress
		}
	}
	return nil
}

// hasScript reports whether a script is the destination of an invoice, on any network if the network is not set.
func (s *Service) hasScript(ctx context.Context, script Script) (bool, error) {
	if script.Network == "" {
		return s.storage.HasScript(ctx, script.Script)
	}
	_, err := s.storage.InvoiceTo(ctx, script.Network, script.Script)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// lastPrecompiled is the last address of EVM networks that is reserved for contracts of the networks themselves.
var lastPrecompiled = big.NewInt(0xffff)

// isContract reports whether an address is the contract of a known token on any network, or one of the first
// addresses of EVM networks: coins that are sent there are lost.
func (s *Service) isContract(address string) bool {
	digits, isEVM := strings.CutPrefix(strings.ToLower(address), "0x")
	if !isEVM {
		return false
	}
	if n, ok := new(big.Int).SetString(digits, 16); !ok || n.Cmp(lastPrecompiled) <= 0 {
		return true
	}
	hasAddress := func(a chain.Asset) bool { return strings.EqualFold(a.Contract, address) }
	for _, networks := range s.networks {
		for _, n := range networks {
			if slices.ContainsFunc(n.Assets(), hasAddress) || slices.ContainsFunc(s.bridged[n.ID()], hasAddress) {
				return true
			}
		}
	}
	return false
}

// Received returns the first present transfer of each asset that is more than dust, in the order in
// which they were first seen.
func (inv *Invoice) Received() []Transfer {
	var list []Transfer
	for _, p := range inv.Payments() {
		switch p.State {
		case PaymentDust, PaymentReplaced, PaymentReorged:
			continue
		}
		if !slices.ContainsFunc(list, func(t Transfer) bool { return t.Asset == p.Asset }) {
			list = append(list, p.Transfer)
		}
	}
	return list
}
