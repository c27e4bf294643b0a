package views

// Terminal is the page of a terminal, with the form that creates an invoice.
type Terminal struct {
	Page
	Form
	Name  string // the terminal's name
	Asked []TextField
}

// InvalidFields returns the fields with an error.
func (t Terminal) InvalidFields() []TextField { return withErrors(t.Asked) }

// keys are the keys of the keypad. The empty key deletes the last character.
var keys = []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", ".", "0", ""}

// TerminalPayment is the payment page on a terminal, which the shopper sees on the merchant's phone.
type TerminalPayment struct {
	Payment
	Next Link // link to the form for the next invoice
}
