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
	Notice   string // states that the account was signed out
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

// Start is the page that asks for the token of a link: the first owner's, an invitation or a recovery.
type Start struct {
	BareFrame
	Heading string
	Intro   string
	Action  string
	Problem string
	Token   Field
	Button  string
}

// NewAccount is the page of a link that creates an account, the first owner's or an invited one, or that
// lets an account set a new passkey or password.
type NewAccount struct {
	BareFrame
	Heading  string
	Intro    string
	Problem  string
	Passkey  Passkey
	Action   string // URL that receives the name and the password
	Hidden   []Hidden
	Name     Field // empty if the account has a name
	Password Field
}

// Codes is the page that shows the secret of an authenticator app and the recovery codes.
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
	// Recovery is the list of recovery codes, which are shown once.
	Recovery []string
	Code     Field
	Button   string
}
