package views

import (
	"bytes"
	"slices"
	"strings"

	"github.com/a-h/templ"
)

// Payment is the page of an invoice in one state. The fields that do not belong to that state are empty.
type Payment struct {
	Page
	Kind         string // the state, a class of the style sheet
	Status       string // the invoice's status
	Key          string // changes when Announcement must be announced again
	Version      string // changes when anything on the page changes
	Self         string // address of this page
	Stream       string // address of the stream of updates
	Announcement string // announced once when the page changes to this state
	Final        bool   // the invoice will not change any more
	Test         string // text that says that no real money moves

	Back  Link
	Label []string // "Order 1042 ·", "Ref. aK3x-9QfW"; a line may end between them
	Due   Due

	Heading       string
	Open          bool // the payment is in progress: the heading is small
	WatchDot      bool // a dot shows that the network is watched
	CheckMark     bool // a check mark shows that the invoice is paid
	Clock         Clock
	Depth         string // "1 of 2 confirmations"
	Steps         []Step
	Meter         Meter
	Lead          string
	Notes         []Note
	Methods       []Method
	Turn          string // changes when the shopper has to send money again, so that browser wallets are offered again
	Facts         []Fact
	Footing       string      // says that the page is no VAT invoice
	PDF           Link        // the receipt as a document
	Return        Link        // the link back to the shop
	AutoReturn    bool        // the page opens Return after a countdown
	CountdownText Around      // the text around the countdown
	Countdown     string      // announced when the countdown begins
	Again         Link        // starts a new payment
	Contact       Link        // the shop's contact, in a state in which only the shop can help
	Requote       RequoteForm // asks for a new quote
	Check         Link        // reloads a page without a script
	Auto          Link        // makes a page without a script reload periodically
	Help          []string

	Proof    Proof
	Refusal  string // why the service refused the last request
	Refund   Refund
	Summary  Summary
	Simulate Simulate
}

// Around is the text before and after an element within a sentence.
type Around struct {
	Before, After string
}

// Due is the amount at the head of the page.
type Due struct {
	Label  string // "Amount due"
	Amount string // "€56.50"
	Coins  string // below the amount: the coins received
	Line   string // below the amount, if it does not depend on the method
	Until  Moment // a time after Line, followed by After
	After  string
	Long   bool // Amount is an amount of coins, which has more digits than a price
}

// LineText returns the line with its time as plain text.
func (d Due) LineText() string {
	return strings.TrimSpace(strings.Join([]string{d.Line, d.Until.Text, d.After}, " "))
}

// Proof is the signed statement of the addresses. It is empty on a page without an address.
type Proof struct {
	URL string
	Key string // the public key that the statement names
}

// RequoteForm is the form that asks for a new quote. Without an Action there is no form.
type RequoteForm struct {
	Action string
	Text   string
	Quote  string // number of the quote on the page
	Method string // the method that the page opens afterwards
}

// Refund asks for a refund address, or shows it. Without a Label the page shows neither.
type Refund struct {
	Action     string // address that the form posts to; empty once the refund address is saved
	Heading    string
	Label      string
	Hint       string
	Currencies []Currency
	Address    string // the typed address
	Error      string
	Saved      string
	SavedParts []Group
}

// Currency is an option of a choice of currencies.
type Currency struct {
	Code   string
	Text   string
	Chosen bool
}

// secondsMark begins the element with the remaining seconds. No text of a page contains it, because "<" is escaped in texts.
var secondsMark = []byte(`<data id="left" hidden value="`)

// SplitSeconds returns the parts of a page before and after the remaining seconds of the quote. A page without the
// seconds has no second part.
func SplitSeconds(page []byte) (before, after []byte) {
	start := bytes.LastIndex(page, secondsMark)
	if start < 0 {
		return page, nil
	}
	start += len(secondsMark)
	return page[:start], page[start+bytes.IndexByte(page[start:], '"'):]
}

// Clock is the end of the quote and the time until then.
type Clock struct {
	Until   string // "15:42 UTC"
	Machine string
	Left    string // seconds
}

// Step is one of the three steps of every payment.
type Step struct {
	Text  string
	State string // "done", "now" or empty
}

// Meter shows how much of the price has arrived.
type Meter struct {
	Paid, Total string // "43.21", "56.50"
	PaidText    string
	TotalText   string
}

// Note is a highlighted paragraph. Strong is an instruction, and Text is the reason.
type Note struct {
	Kind   string // "warn", "bad", "ok" or empty
	Strong string // may be empty
	Text   string
	Until  Moment // a time after Text, followed by After
	After  string
}

// Fact is a row of a result.
type Fact struct {
	Label   string
	Value   string
	Machine string // Value as a machine-readable time, if it is a time
	Code    bool   // shown in a monospaced font
	Amount  bool
	Long    bool // shown in a separate line
}

// Method is one payment method. The page contains all methods of an invoice.
type Method struct {
	ID      string // "m1"
	Code    string // "EURC-BASE"
	Name    string // "EURC on Base"
	PayWith string // "Pay with EURC on Base"
	Label   string // "EURC"
	Network string // below the label: "Base"; empty if the label is unambiguous
	Symbol  string
	Icon    string // the symbol, or the code of a method with an icon of its own
	Chosen  bool
	Line    string // amount and rate, for the head of the page
	Notes   []Note

	QR      Picture
	Caption string
	Wallet  templ.SafeURL // opens a wallet; empty if no link is safe
	App     string        // opens this page in a phone's wallet that can send the payment; empty if there is none
	// Second is the code with the amount, which some wallets misread. It is drawn on SecondPage.
	Second     Picture
	SecondTo   templ.SafeURL // opens a wallet with the amount; empty if no link is safe
	SecondText string        // heading of the second code, or the text of the link to it
	SecondNote string        // why there are two codes
	SecondPage string        // address of the page with Second; empty on that page, and without such a code

	AmountLabel  string
	Amount       string // the copied text: digits and a dot
	AmountGroups []Group
	Unit         string
	AddressLabel string
	Address      string
	AddressParts []Group
	IsRequest    bool // Address is a payment request, which is long
	// CopyAddress and CopiedAddress are the name of the button that copies Address, and what is announced afterwards.
	CopyAddress, CopiedAddress string
	RequestForm                RequestForm
	// ContractParts is a token's contract address, which identifies the token in wallets and
	// explorers.
	ContractParts []Group
	Request       Request
}

// RequestForm is the form that makes a payment request. Without an Action there is no form.
type RequestForm struct {
	Action string
	Lead   string
	Text   string
}

// Request is the transfer that a browser wallet is asked to send. Without Units there is none.
type Request struct {
	ChainID  string // EIP-155, decimal
	Network  string // "Base"
	Contract string // a token's contract; empty for a coin
	Address  string // the destination
	Units    string // the amount in the smallest units, decimal
	Sent     string // text shown after the wallet has sent it
}

// Picture is a QR code and its description for screen readers.
type Picture struct {
	ID    string
	Title string
	Code  QR
}

// Summary describes the order.
type Summary struct {
	Heading string
	Text    string
	Total   string
	VAT     VAT
	Words   string
}

// VAT is the value added tax that a total includes, as the merchant states it. Without Label none is stated.
type VAT struct {
	Label  string // has the rate
	Amount string
}

// Simulate holds the test tools of a test invoice. Without Groups there are none.
type Simulate struct {
	Action  string // address that the form posts to
	Groups  []Simulations
	Method  string // the method to simulate, if the page has no choice
	Refusal string // why the last simulation was refused
}

// Simulations is a group of related simulations.
type Simulations struct {
	Heading string
	Actions []Simulation
}

// Simulation is an event that the test network can simulate.
type Simulation struct {
	Value string
	Text  string
}

// schemes are the URI schemes of wallets. WalletURL rejects all others, because a link with another
// scheme can run a program.
var schemes = []string{"bitcoin", "litecoin", "ethereum", "monero", "lightning"}

// WalletURL returns a payment URI as a link; empty if its scheme is not a scheme of wallets.
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

// hasChoice reports whether the shopper can choose between methods.
func (p Payment) hasChoice() bool { return len(p.Methods) > 1 }

// hasWalletRequest reports whether a browser wallet can pay with one of the methods.
func (p Payment) hasWalletRequest() bool {
	return slices.ContainsFunc(p.Methods, func(m Method) bool { return m.Request.Units != "" })
}

// class returns the class that shows an element only while the method is chosen; empty for a single
// method, which is always shown.
func (p Payment) class(m Method) string {
	if !p.hasChoice() {
		return ""
	}
	return "way " + m.ID
}
