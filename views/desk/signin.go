package desk

import (
	"chequer/views"
)

// SignIn is the page that asks for a passkey, or for a password and a code.
type SignIn struct {
	BareFrame
	Passkey  Passkey
	Action   string
	Problem  string
	Name     Field
	Password Field
	Code     Field
	Hidden   []Hidden
	Notice   string // says that the account was signed out
}

// StepUp is the page that asks an account to confirm its identity before an action.
type StepUp struct {
	BareFrame
	Reason      string  // what the account is about to do
	Passkey     Passkey // empty if the account has no passkey
	HasPassword bool
	Action      string
	Problem     string
	Password    Field
	Code        Field
	Hidden      []Hidden
	Cancel      string
}

// Start is the page without an account: it asks for the token of the link that the server printed.
type Start struct {
	BareFrame
	Heading string
	Intro   string
	Action  string
	Problem string
	Token   Field
	Button  string
}

// NewAccount is the page that creates an account from a link: the owner's on the first run, or an
// invited one.
type NewAccount struct {
	BareFrame
	Heading  string
	Intro    string
	Problem  string
	Passkey  Passkey
	Action   string // takes the name and the password
	Hidden   []Hidden
	Name     Field // empty if the account has a name
	Password Field
}

// Codes is the page that shows the secret of an authenticator app.
type Codes struct {
	BareFrame
	Heading string
	Intro   string
	Problem string
	Action  string
	Hidden  []Hidden
	QR      views.QR
	Title   string // accessible name of the QR code
	Secret  []views.Group
	// Recovery are the recovery codes, which are shown once.
	Recovery []string
	Code     Field
	Button   string
}
