package present

import "chequer/internal/api"

// Refusals maps the codes in the address of a page to the keys of the texts that say why the service refused an
// action. A code is the service's error code if it is known here, otherwise RefusedOther or RefusedAway.
// The address never contains the text, so that it cannot put other text on the page.
type Refusals map[string]string

const (
	// RefusedOther is the code for an action that does not fit the invoice any more.
	RefusedOther = "changed"
	// RefusedAway is the code for a service that cannot answer now, for any reason other than a missing
	// price.
	RefusedAway = "unavailable"
)

// SimulationRefusals says why a simulation was refused.
var SimulationRefusals = Refusals{
	"nothing_to_do": "simulate.nothing", "clock_too_far": "simulate.far", RefusedOther: "refused.changed",
}

// RequoteRefusals says why no new price was held.
var RequoteRefusals = Refusals{
	api.CodeNoRate: "hold.unpriced", "too_little_due": "hold.little", RefusedAway: "fault.away.text", RefusedOther: "refused.changed",
}

// Text returns the text for a code; empty for an unknown code.
func (l Refusals) Text(r Reader, code string) string {
	id, known := l[code]
	if !known {
		return ""
	}
	return r.Text(id)
}
