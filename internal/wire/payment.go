package wire

import (
	"chequer/internal/api"
	"chequer/internal/invoice"
)

// payments returns the API's view of the payments of an invoice that are reported.
func payments(inv *invoice.Invoice, reported []invoice.Payment) []api.Payment {
	list := []api.Payment{}
	for _, p := range reported {
		address, required := destination(inv, p.Transfer)
		switch {
		case p.Instant:
			required = 0
		case p.Required > 0:
			required = p.Required
		}
		fiat := p.Value
		if p.State == invoice.PaymentLate && p.Market != nil { // it does not count, but the merchant has received it
			fiat = *p.Market
		}
		list = append(list, api.Payment{
			ID: p.ID, CryptoCurrency: p.Asset, Address: address, Amount: p.Amount.String(), FiatAmount: fiat.String(),
			Tx: p.Tx, Confirmations: p.Confirmations, Required: required, State: string(p.State),
			FirstSeenAt: Time(p.FirstSeen),
		})
	}
	return list
}

// destination returns the address of a transfer, and the confirmations that are required for a
// payment of the whole invoice to it.
func destination(inv *invoice.Invoice, t invoice.Transfer) (address string, confirmations int) {
	to, _ := inv.DestinationOf(t)
	if m, known := inv.Method(t.Network, t.Asset); known && (m.Destination.Script == t.Script || m.Asset.Requested()) {
		return to.Address, inv.Confirmations(m)
	}
	return to.Address, 0 // a wrong asset, sent to an address of this invoice
}
