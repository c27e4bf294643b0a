package present

import (
	"strconv"

	"chequer/internal/api"
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
