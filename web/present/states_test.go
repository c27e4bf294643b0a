package present_test

import (
	"testing"

	"chequer/internal/api"
	"chequer/web/present/presenttest"
)

// states lists the states of an invoice that the page distinguishes, with the expected texts.
var states = []struct {
	name         string
	change       func(*api.Resource)
	title        string
	heading      string
	head         string // label of the amount
	amount       string
	codes        int    // number of QR codes; 0 if nothing is due
	announcement string // part of the announcement to screen readers
	words        string // text that is somewhere on the page
}{
	{
		"waiting", func(*api.Resource) {},
		"Pay Atelier Nord", "Waiting for your payment", "Amount due", "€56.50", 2, "", "fifty-six euros and fifty cents",
	},
	{
		"quote expired, undecided", func(r *api.Resource) { r.SecondsLeft = -5 },
		"Price run out – Atelier Nord", "The held price has run out", "Amount due", "€56.50", 0, "still looking", "Do not send it again",
	},
	{
		"delayed", func(r *api.Resource) { r.SecondsLeft, r.Exceptions = -5, []string{api.ExceptionDelayed} },
		"Price run out – Atelier Nord", "The held price has run out", "Amount due", "€56.50", 0, "still looking", "This takes longer than usual",
	},
	{
		"partly paid", func(r *api.Resource) {
			part := presenttest.Payment("confirmed")
			part.Amount, part.FiatAmount = "0.0005", "43.21"
			r.Status, r.DueAmount, r.PaidAmount, r.Payments = api.StatusPending, "13.29", "43.21", []api.Payment{part}
			r.Exceptions = []string{api.ExceptionUnderpaid}
			r.PaymentMethods[0].DueAmount = "0.00015379"
		},
		"€13.29 still due – Atelier Nord", "Part of it arrived", "Still due", "€13.29", 2, "€13.29 still due. The QR code now shows the rest", "0.00015379 BTC",
	},
	{
		"partly paid, quote expired", func(r *api.Resource) {
			r.Status, r.DueAmount, r.PaidAmount, r.SecondsLeft = api.StatusPending, "13.29", "43.21", 0
		},
		"€13.29 still due – Atelier Nord", "Part of it arrived", "Still due", "€13.29", 0, "has run out", "Do not send the rest now",
	},
	{
		"seen", func(r *api.Resource) {
			r.Status, r.DueAmount, r.Payments = api.StatusPending, "0", []api.Payment{presenttest.Payment("seen")}
		},
		"Payment seen – Atelier Nord", "Payment seen", "Received", "€56.50", 0, "1 of 2 confirmations. You can close this page.", "1 of 2",
	},
	{
		"contested", func(r *api.Resource) {
			contested := presenttest.Payment("seen")
			contested.Contested = true
			r.Status, r.DueAmount, r.Payments = api.StatusPending, "0", []api.Payment{contested}
		},
		"Payment seen – Atelier Nord", "Payment seen", "Received", "€56.50", 0, "1 of 2 confirmations. You can close this page.", "this payment is contested. It counts when it is in a block",
	},
	{
		"paid", func(r *api.Resource) {
			r.Status, r.DueAmount, r.PaidAmount, r.PaidAt = api.StatusPaid, "0", "56.5", "2026-11-27T12:52:00.000Z"
			r.PaidTx, r.Payments = presenttest.Payment("").Tx, []api.Payment{presenttest.Payment("confirmed")}
		},
		"Paid – Atelier Nord", "Paid. Thank you.", "Paid", "€56.50", 0, "Paid. Your order 1042 is confirmed.", "27 Nov 2026, 12:52 UTC",
	},
	{
		"overpaid", func(r *api.Resource) {
			r.Status, r.DueAmount, r.OverpaidAmount, r.Exceptions = api.StatusPaid, "0", "6.91", []string{api.ExceptionOverpaid}
		},
		"Paid, with €6.91 extra – Atelier Nord", "Paid. You sent a little extra.", "Paid", "€63.41", 0, "€6.91 more than needed", "belongs to you",
	},
	{
		"overpaid by less than a cent", func(r *api.Resource) {
			r.Status, r.DueAmount, r.Exceptions = api.StatusPaid, "0", []string{api.ExceptionOverpaid}
			r.PaidTx, r.Payments = presenttest.Payment("").Tx, []api.Payment{presenttest.Payment("confirmed")}
		},
		"Paid – Atelier Nord", "Paid. Thank you.", "Paid", "€56.50", 0, "Paid. Your order 1042 is confirmed.", "",
	},
	{
		"expired", func(r *api.Resource) { r.Status, r.SecondsLeft = api.StatusExpired, -900 },
		"Price expired – Atelier Nord", "The held price has run out", "Amount due", "€56.50", 0, "No payment was seen", "27 Dec 2026, 12:14 UTC",
	},
	{
		"expired with a part", func(r *api.Resource) {
			r.Status, r.SecondsLeft, r.PaidAmount, r.DueAmount = api.StatusExpired, -900, "43.21", "13.29"
		},
		"Price expired – Atelier Nord", "Only part of it arrived in time", "Amount due", "€56.50", 0, "Only €43.21", "€13.29 is missing",
	},
	{
		"late", func(r *api.Resource) {
			short := presenttest.Payment("late")
			short.FiatAmount = "55.9"
			r.Status, r.SecondsLeft, r.Exceptions, r.Payments = api.StatusExpired, -900, []string{api.ExceptionLate}, []api.Payment{short}
		},
		"Payment arrived late – Atelier Nord", "Your payment arrived late", "Received late", "€55.90", 0, "after the price expired", "It came in 21 minutes after",
	},
	{
		"declined", func(r *api.Resource) { r.Status = api.StatusDeclined },
		"Cancelled – Atelier Nord", "This payment was cancelled", "Cancelled", "€56.50", 0, "Do not send anything", "cancelled",
	},
	{
		"replaced", func(r *api.Resource) { r.Exceptions = []string{api.ExceptionReplaced} },
		"Payment dropped – Atelier Nord", "Waiting for your payment", "Amount due", "€56.50", 2, "Nothing was taken", "Nothing was taken",
	},
	{
		"reorganised", func(r *api.Resource) {
			r.Status, r.DueAmount, r.Exceptions, r.Payments = api.StatusPending, "0", []string{api.ExceptionReorged}, []api.Payment{presenttest.Payment("seen")}
		},
		"Confirmation taken back – Atelier Nord", "Payment seen", "Received", "€56.50", 0, "We keep watching", "The network took a confirmation back",
	},
	{
		"wrong asset", func(r *api.Resource) {
			r.Exceptions = []string{api.ExceptionWrongAsset}
			r.Payments = []api.Payment{presenttest.WrongAsset("USDC-BASE", "USDC", "Base", "3"), presenttest.WrongAsset("ETH", "ETH", "Ethereum", "0.1"), presenttest.WrongAsset("USDC-BASE", "USDC", "Base", "0.5")}
		},
		"Another currency arrived – Atelier Nord", "Waiting for your payment", "Amount due", "€56.50", 2,
		"3.5 USDC on Base + 0.1 ETH on Ethereum arrived, which is not asked for here. Do not send it again.",
		"3.5 USDC on Base + 0.1 ETH on Ethereum arrived, which is not asked for here. Do not send it again. " +
			"It does not count by itself: Atelier Nord decides whether it does or goes back to you. Ask there and give the reference abc.",
	},
	{
		"payment from before the invoice", func(r *api.Resource) {
			old := presenttest.Payment("old")
			old.FiatAmount = "0"
			r.Exceptions, r.Payments = []string{api.ExceptionOld}, []api.Payment{old}
		},
		"Pay Atelier Nord", "Waiting for your payment", "Amount due", "€56.50", 2, "",
		"arrived before this invoice was made. It does not count by itself: Atelier Nord decides whether it does or goes back to you. Ask there and give the reference abc.",
	},
	{
		"wrong asset without payment details", func(r *api.Resource) { r.Exceptions = []string{api.ExceptionWrongAsset} },
		"Another currency arrived – Atelier Nord", "Waiting for your payment", "Amount due", "€56.50", 2, "Do not send it again", "Another currency arrived, which",
	},
}

// changeTo returns the change that brings an invoice into the state with a name.
func changeTo(t *testing.T, name string) func(*api.Resource) {
	t.Helper()
	for _, s := range states {
		if s.name == name {
			return s.change
		}
	}
	t.Fatalf("no state %q", name)
	return nil
}
