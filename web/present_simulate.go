package web

import (
	"slices"
	"time"

	"chequer/internal/api"
	"chequer/views"
)

// arrivals are the simulations that always can be done, with the ids of their texts.
var arrivals = []views.Simulation{
	{Value: api.SimulateExact, Text: "simulate.exact"},
	{Value: api.SimulateUnder, Text: "simulate.under"},
	{Value: api.SimulateOver, Text: "simulate.over"},
	{Value: api.SimulateLate, Text: "simulate.late"},
}

// sequels are those that change a payment, and what that must be like.
var sequels = []struct {
	views.Simulation
	fits func(api.Payment) bool
}{
	{views.Simulation{Value: api.SimulateConfirm, Text: "simulate.confirm"}, func(t api.Payment) bool { return t.Confirmations < t.Required }},
	{views.Simulation{Value: api.SimulateReplace, Text: "simulate.replace"}, func(t api.Payment) bool { return t.Confirmations == 0 }},
	{views.Simulation{Value: api.SimulateReorganise, Text: "simulate.reorganise"}, func(t api.Payment) bool { return t.Confirmations > 0 }},
}

// leaps are how far a button moves the invoice's own clock, and spans what its
// value stands for.
var (
	leaps = []views.Simulation{{Value: "hour", Text: "simulate.hour"}, {Value: "day", Text: "simulate.day"}}
	spans = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour}
)

// refusals are the texts of why a simulation was not done, by the word that stands for it in
// an address. It is the service's code where we know that, else refusedOther.
var refusals = map[string]string{
	"nothing_to_do": "simulate.nothing",
	"clock_too_far": "simulate.far",
	refusedOther:    "refused.changed",
}

const refusedOther = "changed"

// simulation is the tools of a test invoice: those that can work now. Where the
// page has no choice of methods they act on the one last paid by.
func simulation(r api.Resource, s scene, p views.Payment) views.Simulate {
	tools := views.Simulate{
		Action: s.keep(s.self + "/simulate"),
		Groups: []views.Simulations{{Heading: s.Text("simulate.arrives"), Actions: spoken(s, arrivals)}},
	}
	var then []views.Simulation
	for _, sequel := range sequels {
		if slices.ContainsFunc(r.Payments, func(t api.Payment) bool { return onNetwork(t) && sequel.fits(t) }) {
			then = append(then, sequel.Simulation)
		}
	}
	if len(then) > 0 {
		tools.Groups = append(tools.Groups, views.Simulations{Heading: s.Text("simulate.then"), Actions: spoken(s, then)})
	}
	tools.Groups = append(tools.Groups, views.Simulations{Heading: s.Text("simulate.clock"), Actions: spoken(s, leaps)})
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

// spoken is simulations with their texts in place of their ids.
func spoken(s scene, list []views.Simulation) []views.Simulation {
	said := make([]views.Simulation, len(list))
	for i, one := range list {
		said[i] = views.Simulation{Value: one.Value, Text: s.Text(one.Text)}
	}
	return said
}

// onNetwork tells whether a payment is anywhere any more.
func onNetwork(t api.Payment) bool { return t.State != "replaced" && t.State != "reorged" }
