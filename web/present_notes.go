package web

import (
	"chequer/internal/api"
	"chequer/views"
)

// exceptionNotes is what went differently, in words. What a state is made of
// already, such as a late payment of an expired invoice, is not said twice.
func exceptionNotes(r api.Resource, s scene) []views.Note {
	var notes []views.Note
	unpaid := r.Status == api.StatusCreated || r.Status == api.StatusPending
	if has(r, api.ExceptionReplaced) && unpaid && !isZero(r.DueAmount) {
		notes = append(notes, views.Note{
			Kind: "warn", Alert: true, Strong: "The network dropped that transaction. Nothing was taken.",
			Text: "Look in your wallet: if the payment is gone from there too, you can send it again.",
		})
	}
	if has(r, api.ExceptionReorged) && unpaid {
		notes = append(notes, views.Note{
			Kind: "warn", Alert: true, Strong: "The network took a confirmation back.",
			Text: "That happens, and mostly it confirms again by itself. Do not send anything again while your wallet shows the payment.",
		})
	}
	if has(r, api.ExceptionWrongAsset) {
		notes = append(notes, views.Note{
			Kind: "warn", Strong: "Another currency arrived at one of these addresses.",
			Text: "It does not count by itself. " + sentence(s.shop) + " has been told and decides.",
		})
	}
	if has(r, api.ExceptionDelayed) && unpaid {
		notes = append(notes, views.Note{
			Kind: "warn", Strong: "This takes longer than usual.",
			Text: "We cannot see the network well at the moment. " + sentence(s.shop) + " has been told, and nothing that you sent is lost.",
		})
	}
	if has(r, api.ExceptionLate) && r.Status != api.StatusExpired {
		notes = append(notes, views.Note{
			Kind: "warn", Strong: "A payment arrived late.",
			Text: sentence(s.shop) + " has been told and decides whether it counts or goes back to you.",
		})
	}
	return notes
}

var simulations = map[string]string{
	api.SimulateExact:      "Exact amount",
	api.SimulateUnder:      "Too little",
	api.SimulateOver:       "Too much",
	api.SimulateConfirm:    "Confirm",
	api.SimulateLate:       "Too late",
	api.SimulateReplace:    "Replace it",
	api.SimulateReorganise: "Reorganise",
}

// simulation is the tools of a test invoice. Where the page has no choice of
// methods they act on the one last paid by.
func simulation(r api.Resource, s scene, p views.Payment) views.Simulate {
	tools := views.Simulate{Action: s.self + "/simulate"}
	for _, action := range api.SimulateActions {
		tools.Actions = append(tools.Actions, views.Simulation{Value: action, Text: simulations[action]})
	}
	switch {
	case len(p.Methods) > 1:
	case len(r.Payments) > 0:
		tools.Method = r.Payments[len(r.Payments)-1].CryptoCurrency
	case s.method != "":
		tools.Method = s.method
	case len(r.PaymentMethods) > 0:
		tools.Method = r.PaymentMethods[0].CryptoCurrency
	}
	return tools
}
