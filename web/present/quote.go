package present

import (
	"slices"
	"strconv"
	"time"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/views"
)

// requote returns the form that asks for a new quote. The form is empty if no new quote is available, or
// if the shop checks payments by hand.
func requote(r api.Resource, s pageContext) views.RequoteForm {
	if !r.MayRequote || isCheckedByHand(r) || len(r.Quotes) == 0 {
		return views.RequoteForm{}
	}
	return views.RequoteForm{
		Action: s.address(s.self + "/quote"), Text: s.Text("requote.button"), Method: s.method,
		Quote: strconv.Itoa(r.Quotes[len(r.Quotes)-1].Number),
	}
}

// AskRefusals are the reasons why no payment request was made.
var AskRefusals = Refusals{
	api.CodeNoRequest: "ask.none", api.CodeTooManyRequests: "ask.many", api.CodeAsking: "ask.running",
	api.CodeRequestAmount: "refused.requested", RefusedUnavailable: "ask.none", RefusedOther: "refused.changed",
}

// isLightning reports whether the address of a method is a payment request.
func isLightning(m api.PaymentMethod) bool { return m.CryptoCurrency == api.MethodLightning }

// MayAsk reports whether a payment request can be asked for on the page of an invoice.
func MayAsk(r api.Resource) bool {
	return slices.ContainsFunc(r.PaymentMethods, func(m api.PaymentMethod) bool { return m.MayRequest })
}

// payable returns the methods by which the shopper can pay now: it omits one whose payment request is not valid and cannot be
// asked for.
func payable(methods []api.PaymentMethod) []api.PaymentMethod {
	isClosed := func(m api.PaymentMethod) bool { return isLightning(m) && m.Address == "" && !m.MayRequest }
	if !slices.ContainsFunc(methods, isClosed) {
		return methods
	}
	return slices.DeleteFunc(slices.Clone(methods), isClosed)
}

// askForm returns the form that asks for a payment request. It is empty if the method has one or needs none.
func askForm(m api.PaymentMethod, s pageContext) views.AskForm {
	if !m.MayRequest {
		return views.AskForm{}
	}
	return views.AskForm{Action: s.address(s.self + "/request"), Lead: s.Text("ask.lead"), Text: s.Text("ask.button")}
}

// requestEnd returns the note that a payment request ends before the price does; none if it does not.
func requestEnd(r api.Resource, m api.PaymentMethod, s pageContext) []views.Note {
	if m.AddressUntil == "" || m.AddressUntil >= r.ExpiredAt { // texts of one format are ordered as their times
		return nil
	}
	return []views.Note{{Text: s.Text("ask.until", "Time", s.TimeOfDay(m.AddressUntil, s.Now))}}
}

// ChangesIn returns the time until the page of an invoice changes without a new version of the invoice: until the quote or a payment
// request ends; 0 if it does not.
func ChangesIn(snapshot client.Snapshot, now time.Time) time.Duration {
	wait := time.Duration(max(snapshot.Resource.SecondsLeft, 0)) * time.Second
	for _, m := range snapshot.Resource.PaymentMethods {
		until, err := time.Parse(time.RFC3339, m.AddressUntil)
		if err != nil {
			continue
		}
		// AddressUntil has whole milliseconds. The clock of a service at another address may be behind.
		if left := max(until.Sub(now)+time.Millisecond, time.Second); left < wait {
			wait = left
		}
	}
	return wait
}

// lightningFirst returns a resource whose first method is the payment request, if it has one.
func lightningFirst(r api.Resource) api.Resource {
	r.PaymentMethods = slices.Clone(r.PaymentMethods)
	slices.SortStableFunc(r.PaymentMethods, func(a, b api.PaymentMethod) int {
		switch {
		case isLightning(a) == isLightning(b):
			return 0
		case isLightning(a):
			return -1
		}
		return 1
	})
	return r
}
