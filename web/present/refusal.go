package present

import "chequer/internal/api"

// Refusals maps codes in the address of a page to the keys of the texts with the reason why the service
// refused an action. A code is the service's error code if the map has it, otherwise RefusedOther or
// RefusedUnavailable. The address contains no text, so that the author of a link cannot put text on the page.
type Refusals map[string]string

const (
	// RefusedOther is the code for an action that the state of the invoice no longer allows.
	RefusedOther = "changed"
	// RefusedUnavailable is the code for a service that cannot answer now, for any reason other than a missing
	// price.
	RefusedUnavailable = "unavailable"
)

// SimulationRefusals are the reasons why a simulation was refused.
var SimulationRefusals = Refusals{
	"nothing_to_do": "simulate.nothing", "request_unpayable": "simulate.unpayable", "clock_too_far": "simulate.far", RefusedOther: "refused.changed",
}

// RequoteRefusals are the reasons why a new quote was refused.
var RequoteRefusals = Refusals{
	api.CodeNoRate: "requote.no_rate", "too_little_due": "requote.too_little", "too_much_due": "refused.requested",
	RefusedUnavailable: "fault.away.text", RefusedOther: "refused.changed",
}

// Text returns the text for a code; empty for an unknown code.
func (f Refusals) Text(r Reader, code string) string {
	id, known := f[code]
	if !known {
		return ""
	}
	return r.Text(id)
}

// RequestRefusals are the reasons why no payment request was made.
var RequestRefusals = Refusals{
	api.CodeNoRequest: "request.none", api.CodeTooManyRequests: "request.many", api.CodeRequestRunning: "request.running",
	api.CodeRequestAmount: "refused.requested", RefusedUnavailable: "request.none", RefusedOther: "refused.changed",
}
