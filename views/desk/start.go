package desk

import "chequer/views"

// Start is the page without an account: it asks for the token of the link that the server printed.
type Start struct {
	Solo
	Heading string
	Lede    string
	Action  string
	Problem string
	Token   Field
	Button  string
}

// NewAccount is the page that creates an account from a link: the owner's on the first run, or an
// invited one.
type NewAccount struct {
	Solo
	Heading  string
	Lede     string
	Problem  string
	Passkey  Passkey
	Action   string // takes the name and the password
	Hidden   []Hidden
	Name     Field // empty if the account has a name
	Password Field
}

// Codes is the page that shows the secret of an authenticator app.
type Codes struct {
	Solo
	Heading string
	Lede    string
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
