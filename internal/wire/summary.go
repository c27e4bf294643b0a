package wire

import (
	"chequer/internal/api"
	"chequer/internal/invoice"
)

// Summary returns the short form of an invoice.
func Summary(s invoice.Summary) api.Summary {
	summary := api.Summary{
		ForeignID: s.ID, OrderID: s.OrderID, Mode: string(s.Mode), Version: s.Version,
		Status: string(s.Status), Exceptions: texts(s.Exceptions), NeedsDecision: s.NeedsDecision(),
		CreatedAt: Time(s.CreatedAt), ExpiredAt: Time(s.ExpiresAt), PaidAt: Time(s.PaidAt),
		ClientAmount: s.Price.String(), ClientCurrency: s.Price.Currency().Code,
		PaidAmount: s.Paid.String(), DueAmount: s.Due.String(), OverpaidAmount: s.Overpaid.String(),
		Received: []api.ReceivedAmount{}, Description: s.Description, Reference: s.Reference,
		Origin: api.Origin{Kind: string(s.Origin.Kind), ID: s.Origin.ID},
	}
	if s.Status == invoice.Paid {
		summary.PaidCurrency = s.PaidAsset
	}
	for _, r := range s.Received {
		summary.Received = append(summary.Received, api.ReceivedAmount{CryptoCurrency: r.Asset, Amount: r.Amount.String(), State: string(r.State)})
	}
	return summary
}

// texts returns the texts of a list. The result is never nil.
func texts[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, word := range list {
		texts[i] = string(word)
	}
	return texts
}
