package present

import (
	"slices"
	"time"

	"chequer/internal/api"
	"chequer/views"
)

// paymentSimulations are the simulations that are always possible, with the keys of their texts.
var paymentSimulations = []views.Simulation{
	{Value: api.SimulateExact, Text: "simulate.exact"},
	{Value: api.SimulateUnder, Text: "simulate.under"},
	{Value: api.SimulateOver, Text: "simulate.over"},
	{Value: api.SimulateLate, Text: "simulate.late"},
}

// changes are the simulations that change a payment. fits reports whether a payment allows the change.
var changes = []struct {
	views.Simulation
	fits func(api.Payment) bool
}{
	{views.Simulation{Value: api.SimulateConfirm, Text: "simulate.confirm"}, func(t api.Payment) bool { return t.Confirmations < t.Required }},
	{views.Simulation{Value: api.SimulateReplace, Text: "simulate.replace"}, func(t api.Payment) bool { return t.Confirmations == 0 }},
	{views.Simulation{Value: api.SimulateReorganise, Text: "simulate.reorganise"}, func(t api.Payment) bool { return t.Confirmations > 0 }},
}

// clockSteps are the buttons that advance the invoice's clock.
var clockSteps = []views.Simulation{{Value: "hour", Text: "simulate.hour"}, {Value: "day", Text: "simulate.day"}}

// spans maps the values of clockSteps to durations.
var spans = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour}

// SimulateRequest returns the request for a button of the test tools. ok is false if there is no such
// button.
func SimulateRequest(button, method string) (r api.SimulateRequest, ok bool) {
	r = api.SimulateRequest{Action: button, PaymentMethod: method}
	if span, isClock := spans[button]; isClock {
		r.Action, r.Seconds = api.SimulateClock, int64(span/time.Second)
	}
	return r, slices.Contains(api.SimulateActions, r.Action) && (r.Action == api.SimulateClock) == (r.Seconds > 0)
}

// simulation returns the test tools that are possible now. If the page offers no choice of methods, the
// tools act on the method of the last payment or, without one, on the chosen or first method.
func simulation(r api.Resource, s pageContext, p views.Payment) views.Simulate {
	tools := views.Simulate{
		Action: s.WithLanguage(s.self + "/simulate"),
		Groups: []views.Simulations{{Heading: s.Text("simulate.arrives"), Actions: withTexts(s, paymentSimulations)}},
	}
	var then []views.Simulation
	for _, change := range changes {
		if slices.ContainsFunc(r.Payments, func(t api.Payment) bool { return onNetwork(t) && change.fits(t) }) {
			then = append(then, change.Simulation)
		}
	}
	if len(then) > 0 {
		tools.Groups = append(tools.Groups, views.Simulations{Heading: s.Text("simulate.then"), Actions: withTexts(s, then)})
	}
	tools.Groups = append(tools.Groups, views.Simulations{Heading: s.Text("simulate.clock"), Actions: withTexts(s, clockSteps)})
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

// withTexts returns the simulations with the keys of their texts replaced by the texts.
func withTexts(s pageContext, list []views.Simulation) []views.Simulation {
	labelled := make([]views.Simulation, len(list))
	for i, simulation := range list {
		labelled[i] = views.Simulation{Value: simulation.Value, Text: s.Text(simulation.Text)}
	}
	return labelled
}

// onNetwork reports whether a payment is still on the network: neither replaced nor reorganised.
func onNetwork(t api.Payment) bool { return t.State != "replaced" && t.State != "reorged" }
