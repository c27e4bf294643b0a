package invoice

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// SetRefund stores the address for a refund in an asset that was received. The shopper can set it
// once; the merchant may change it. The errors are ErrNotFound, ErrNothingReceived, ErrRefundAsset,
// ErrRefundSet, ErrPaymentAddress, the errors of keys.ParseAddress, and keys.ErrPrivateKey if the text
// contains a private key.
func (s *Service) SetRefund(ctx context.Context, id string, actor Actor, asset, address string) (*Invoice, error) {
	inv, err := s.storage.Invoice(ctx, id)
	if err != nil {
		return nil, err
	}
	to, err := s.refundTo(ctx, inv, asset, address)
	if err != nil {
		return nil, err
	}
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		refund := Refund{Asset: asset, Address: to.Address}
		if actor == Shopper && !inv.Refund.IsZero() && inv.Refund != refund {
			return ErrRefundSet
		}
		inv.Refund = refund
		return nil
	})
}

// refundTo parses and checks a refund address.
func (s *Service) refundTo(ctx context.Context, inv *Invoice, asset, text string) (chain.Destination, error) {
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
	reader, ok := s.reader(inv.Mode, received[i].Network)
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
	_, err = s.storage.InvoiceTo(ctx, reader.ID(), to.Script)
	switch {
	case err == nil:
		return none, ErrPaymentAddress
	case !errors.Is(err, ErrNotFound):
		return none, fmt.Errorf("check refund address: %w", err)
	}
	return to, nil
}

// reader returns the parser of a network's addresses. It returns false if the network has none.
func (s *Service) reader(mode Mode, network chain.ID) (chain.AddressReader, bool) {
	for _, n := range s.networks[mode] {
		if reader, ok := n.(chain.AddressReader); ok && n.ID() == network {
			return reader, true
		}
	}
	return nil, false
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
