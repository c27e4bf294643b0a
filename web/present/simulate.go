package present

import (
	"slices"
	"time"

	"chequer/internal/api"
	"chequer/views"
)

// paymentSimulations are the simulations of a new payment, which are always possible, with the keys of their texts.
var paymentSimulations = []views.Simulation{
	{Value: api.SimulateExact, Text: "simulate.exact"},
	{Value: api.SimulateUnder, Text: "simulate.under"},
	{Value: api.SimulateOver, Text: "simulate.over"},
	{Value: api.SimulateLate, Text: "simulate.late"},
}

// paymentChanges are the simulations that change a payment. fits reports whether a payment allows the change.
var paymentChanges = []struct {
	views.Simulation
	fits func(api.Payment) bool
}{
	{views.Simulation{Value: api.SimulateConfirm, Text: "simulate.confirm"}, func(t api.Payment) bool { return t.Confirmations < t.Required }},
	{views.Simulation{Value: api.SimulateReplace, Text: "simulate.replace"}, func(t api.Payment) bool { return t.Confirmations == 0 }},
	{views.Simulation{Value: api.SimulateReorganise, Text: "simulate.reorganise"}, func(t api.Payment) bool { return t.Confirmations > 0 && t.CryptoCurrency != api.MethodLightning }},
}

// clockSteps are the buttons that advance the invoice's clock.
var clockSteps = []views.Simulation{{Value: "hour", Text: "simulate.hour"}, {Value: "day", Text: "simulate.day"}}

// clockDurations maps the values of clockSteps to durations.
var clockDurations = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour}

// SimulateRequest returns the request for a button of the test tools. ok is false if there is no such
// button.
func SimulateRequest(button, method string) (r api.SimulateRequest, ok bool) {
	r = api.SimulateRequest{Action: button, PaymentMethod: method}
	if duration, isClock := clockDurations[button]; isClock {
		r.Action, r.Seconds = api.SimulateClock, int64(duration/time.Second)
	}
	return r, slices.Contains(api.SimulateActions, r.Action) && (r.Action == api.SimulateClock) == (r.Seconds > 0)
}

// testTools returns the simulations that are possible now. If the page offers no choice of methods, the
// tools act on the method of the last payment or, without one, on the chosen or first method.
func testTools(r api.Resource, s pageContext, p views.Payment) views.Simulate {
	tools := views.Simulate{
		Action: s.address(s.self + "/simulate"),
		Groups: []views.Simulations{{Heading: s.Text("simulate.arrives"), Actions: withTexts(s, paymentSimulations)}},
	}
	var possibleChanges []views.Simulation
	for _, change := range paymentChanges {
		if slices.ContainsFunc(r.Payments, func(t api.Payment) bool { return isOnNetwork(t) && change.fits(t) }) {
			possibleChanges = append(possibleChanges, change.Simulation)
		}
	}
	if len(possibleChanges) > 0 {
		tools.Groups = append(tools.Groups, views.Simulations{Heading: s.Text("simulate.then"), Actions: withTexts(s, possibleChanges)})
	}
	tools.Groups = append(tools.Groups, views.Simulations{Heading: s.Text("simulate.clock"), Actions: withTexts(s, clockSteps)})
	switch {
	case len(p.Methods) > 1: // the shopper chooses the method
	case len(r.Payments) > 0:
		tools.Method = r.Payments[len(r.Payments)-1].CryptoCurrency
	case s.method != "":
		tools.Method = s.method
	case len(r.PaymentMethods) > 0:
		tools.Method = r.PaymentMethods[0].CryptoCurrency
	}
	return tools
}

// withTexts returns the simulations with texts in place of the keys of their texts.
func withTexts(s pageContext, list []views.Simulation) []views.Simulation {
	labelled := make([]views.Simulation, len(list))
	for i, simulation := range list {
		labelled[i] = views.Simulation{Value: simulation.Value, Text: s.Text(simulation.Text)}
	}
	return labelled
}

// isOnNetwork reports whether a payment is still on the network: neither replaced nor reorganised.
func isOnNetwork(t api.Payment) bool { return t.State != "replaced" && t.State != "reorged" }
