package views

// POS is the page of a terminal: what a sale is typed into.
type POS struct {
	Page
	Form
	Name  string // of the terminal
	Asked []TextField
}

// Faults are the fields with something wrong.
func (p POS) Faults() []TextField { return faulty(p.Asked) }

// keys are those of the keypad; the last one takes a figure back.
var keys = []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", ".", "0", ""}

// Counter is the payment page as a shopper sees it on the phone at a counter.
type Counter struct {
	Payment
	Next Link // a new sale
}
