package web

import (
	"slices"
	"time"

	"chequer/internal/api"
	"chequer/views"
)

// arrivals are the simulations that always can be done.
var arrivals = []views.Simulation{
	{Value: api.SimulateExact, Text: "Exact amount"},
	{Value: api.SimulateUnder, Text: "Too little"},
	{Value: api.SimulateOver, Text: "Too much"},
	{Value: api.SimulateLate, Text: "Too late"},
}

// sequels are those that change a payment, and what that must be like.
var sequels = []struct {
	views.Simulation
	fits func(api.Payment) bool
}{
	{views.Simulation{Value: api.SimulateConfirm, Text: "Confirm"}, func(t api.Payment) bool { return t.Confirmations < t.Required }},
	{views.Simulation{Value: api.SimulateReplace, Text: "Double spend"}, func(t api.Payment) bool { return t.Confirmations == 0 }},
	{views.Simulation{Value: api.SimulateReorganise, Text: "Reorganise"}, func(t api.Payment) bool { return t.Confirmations > 0 }},
}

// leaps are how far a button moves the invoice's own clock, and spans what its
// value stands for.
var (
	leaps = []views.Simulation{{Value: "hour", Text: "One hour passes"}, {Value: "day", Text: "One day passes"}}
	spans = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour}
)

// refusals are why a simulation was not done, by the word that stands for it in
// an address. It is the service's code where we know that, else refusedOther.
var refusals = map[string]string{
	"nothing_to_do": "There is no payment that this could be done to.",
	"clock_too_far": "The clock of this invoice is a year ahead already.",
	refusedOther:    "That does not fit any more. Something changed in the meantime.",
}

const refusedOther = "changed"

// simulation is the tools of a test invoice: those that can work now. Where the
// page has no choice of methods they act on the one last paid by.
func simulation(r api.Resource, s scene, p views.Payment) views.Simulate {
	tools := views.Simulate{
		Action: s.self + "/simulate",
		Groups: []views.Simulations{{Heading: "A payment arrives", Actions: arrivals}},
	}
	var then []views.Simulation
	for _, sequel := range sequels {
		if slices.ContainsFunc(r.Payments, func(t api.Payment) bool { return onNetwork(t) && sequel.fits(t) }) {
			then = append(then, sequel.Simulation)
		}
	}
	if len(then) > 0 {
		tools.Groups = append(tools.Groups, views.Simulations{Heading: "Then", Actions: then})
	}
	tools.Groups = append(tools.Groups, views.Simulations{Heading: "This invoice's clock", Actions: leaps})
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

// onNetwork tells whether a payment is anywhere any more.
func onNetwork(t api.Payment) bool { return t.State != "replaced" && t.State != "reorged" }
