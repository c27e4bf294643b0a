package present

import (
	"slices"

	"chequer/internal/api"
	"chequer/views"
)

// isLightning reports whether the address of a method is a payment request.
func isLightning(m api.PaymentMethod) bool { return m.CryptoCurrency == api.MethodLightning }

// MayRequestPayment reports whether the page of an invoice can make a payment request.
func MayRequestPayment(r api.Resource) bool {
	return slices.ContainsFunc(r.PaymentMethods, func(m api.PaymentMethod) bool { return m.MayRequest })
}

// payable returns the methods by which the shopper can pay now: it omits one without a valid payment request for which the page
// can make none.
func payable(methods []api.PaymentMethod) []api.PaymentMethod {
	isClosed := func(m api.PaymentMethod) bool { return isLightning(m) && m.Address == "" && !m.MayRequest }
	if !slices.ContainsFunc(methods, isClosed) {
		return methods
	}
	return slices.DeleteFunc(slices.Clone(methods), isClosed)
}

// requestForm returns the form that makes a payment request. It is empty if the method has one or needs none.
func requestForm(m api.PaymentMethod, s pageContext) views.RequestForm {
	if !m.MayRequest {
		return views.RequestForm{}
	}
	return views.RequestForm{Action: s.address(s.self + "/request"), Lead: s.Text("request.lead"), Text: s.Text("request.button")}
}

// requestEnd returns the note that a payment request ends before the price does; none if it does not.
func requestEnd(r api.Resource, m api.PaymentMethod, s pageContext) []views.Note {
	if m.AddressUntil == "" || m.AddressUntil >= r.ExpiredAt { // texts of one format are ordered as their times
		return nil
	}
	return []views.Note{{Text: s.Text("request.until", "Time", s.TimeOfDay(m.AddressUntil, s.Now))}}
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
