package views

import (
	"slices"
	"strings"

	"github.com/a-h/templ"
)

// Payment is the page of one invoice in one state. It has parts for every
// state; those that do not belong to this one are empty.
type Payment struct {
	Page
	Kind    string // the state, as the style sheet knows it
	Status  string // of the invoice
	Key     string // changes when there is something new to announce
	Version string // changes when anything on the page does
	Self    string // address of this page
	Stream  string // address of its updates
	Say     string // announced once when the page becomes this
	Final   bool   // nothing more will happen
	Test    string // says that this is no real money

	Back  Link
	Label []string // "Order 1042 ·", "Ref. aK3x-9QfW"; a line may end between them
	Due   Due

	Heading   string
	Open      bool // still going on: a small heading
	Pulse     bool // with a dot that says that somebody watches
	Seal      bool
	Clock     Clock
	Depth     string // "1 of 2 confirmations"
	Steps     []Step
	Meter     Meter
	Lead      string
	Notes     []Note
	Methods   []Method
	Turn      string // of paying by a browser wallet: changes when money is to be sent anew
	Facts     []Fact
	Footing   string // what a receipt is not
	PDF       Link   // the receipt as a document
	Return    Link   // back to the shop
	Leave     bool   // goes there by itself
	Leaving   Around
	Countdown string // announced when it begins to
	Again     Link   // a new try
	Contact   Link   // where to ask, in a state that the shopper cannot mend
	Hold      Hold   // a new price for the same
	Check     Link   // without a script: look again
	Auto      Link   // without a script: look again by itself
	Help      []string

	Proof    Proof
	Refusal  string // why what was asked for was not done
	Refund   Refund
	Summary  Summary
	Simulate Simulate
}

// Around is the text around something that is no text.
type Around struct {
	Before, After string
}

// Due is the amount at the head of the page.
type Due struct {
	Label  string // "Amount due"
	Amount string // "€56.50"
	Coins  string // below it: what came
	Line   string // below it, when it is the same for every method
	Until  Moment // a time after the line, followed by Rest
	Rest   string
	Long   bool // coins: more digits than a price has
}

// LineText returns the line with its time as plain text.
func (d Due) LineText() string {
	return strings.TrimSpace(strings.Join([]string{d.Line, d.Until.Text, d.Rest}, " "))
}

// Proof is the signed statement of the addresses; none without an address.
type Proof struct {
	URL string
	Key string // that it is signed by
}

// Hold is the form that asks for a new price; none without an action.
type Hold struct {
	Action string
	Text   string
	Quote  string // number of the price on the page
	Method string // to be open again
}

// Refund asks where money should go back to, or shows it; none without a label.
type Refund struct {
	Action     string // where the form is sent; empty once the address is saved
	Heading    string
	Label      string
	Hint       string
	Currencies []Currency
	Address    string // as it was typed
	Error      string
	Saved      string
	SavedParts []Group
}

// Currency is one to choose.
type Currency struct {
	Code   string
	Text   string
	Chosen bool
}

// Clock is how long the price is held.
type Clock struct {
	Until   string // "15:42 UTC"
	Machine string
	Left    string // seconds
}

// Step is one of the three that every payment takes.
type Step struct {
	Text  string
	State string // "done", "now" or empty
}

// Meter is how much of the price has come.
type Meter struct {
	Paid, Total string // "43.21", "56.50"
	PaidText    string
	TotalText   string
}

// Note is a paragraph that stands out: what to do, before why.
type Note struct {
	Kind   string // "warn", "bad", "ok" or empty
	Strong string
	Text   string
	Until  Moment // a time after the text, followed by Rest
	Rest   string
}

// Fact is a row of a result.
type Fact struct {
	Label   string
	Value   string
	Machine string // of a time
	Code    bool   // to be read letter by letter
	Amount  bool
	Long    bool // a line of its own
}

// Method is one way of paying. All of an invoice's stand in its page.
type Method struct {
	ID      string // "m1"
	Code    string // "EURC-BASE"
	Name    string // "EURC on Base"
	PayWith string // "Pay with EURC on Base"
	Label   string // "EURC"
	Network string // beneath it, where it matters: "Base"
	Symbol  string
	Chosen  bool
	Line    string // amount and rate, for the head of the page
	Notes   []Note

	QR       Picture
	Caption  string
	Wallet   templ.SafeURL // opens a wallet; empty when no link is safe
	App      string        // opens this page in a phone's wallet, which can send then; empty where none can
	Second   Picture       // the code with the amount, which some wallets misread
	SecondTo templ.SafeURL

	AmountLabel  string
	Amount       string // what is copied: digits and a dot
	AmountGroups []Group
	Unit         string
	AddressLabel string
	Address      string
	AddressParts []Group
	// ContractParts are a token's: what wallets and explorers know it by.
	ContractParts []Group
	Request       Request
}

// Request is what a browser wallet is asked to send; none when it has no Units.
type Request struct {
	ChainID  string // EIP-155, decimal
	Network  string // "Base"
	Contract string // of a token, else empty
	Address  string // that the money goes to
	Units    string // the amount in the smallest units, decimal
	Sent     string // what is said once the wallet has sent it
}

// Picture is a QR code and what it says, for those who do not see it.
type Picture struct {
	ID    string
	Title string
	Code  QR
}

// Summary is what is being paid for.
type Summary struct {
	Heading string
	Text    string
	Total   string
	Words   string
}

// Simulate is the tools of a test invoice; none when it has no groups.
type Simulate struct {
	Action  string // where the form is sent
	Groups  []Simulations
	Method  string // when the page has no choice of methods
	Refusal string // why the last one was not done
}

// Simulations are some that belong together.
type Simulations struct {
	Heading string
	Actions []Simulation
}

// Simulation is one thing that a network can be made to show.
type Simulation struct {
	Value string
	Text  string
}

// schemes are those of wallets. Everything else that templ does not know stays
// blanked: a link with a scheme can run a program.
var schemes = []string{"bitcoin", "litecoin", "ethereum", "monero", "lightning"}

// WalletURL is a payment URI as a link; empty when it is not one of a wallet's.
func WalletURL(uri string) templ.SafeURL {
	scheme, _, ok := strings.Cut(uri, ":")
	if !ok {
		return ""
	}
	for _, known := range schemes {
		if strings.EqualFold(scheme, known) {
			return templ.SafeURL(uri)
		}
	}
	return ""
}

// switched tells whether the shopper has a choice.
func (p Payment) switched() bool { return len(p.Methods) > 1 }

// asks tells whether a browser wallet can be asked for some method.
func (p Payment) asks() bool {
	return slices.ContainsFunc(p.Methods, func(m Method) bool { return m.Request.Units != "" })
}

// class shows an element only while the method is chosen; a single one always.
func (p Payment) class(m Method) string {
	if !p.switched() {
		return ""
	}
	return "way " + m.ID
}
