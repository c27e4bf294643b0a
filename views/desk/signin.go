package desk

// SignIn is the page that asks for a passkey, or for a password and a code.
type SignIn struct {
	Solo
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
	Solo
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
