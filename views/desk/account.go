package desk

import "chequer/views"

// Account is the page of the account itself: its sign-in methods and its sessions.
type Account struct {
	Frame
	Problem  string
	Methods  []Method
	Passkey  Passkey    // adds a passkey; empty if the sign-in must be confirmed first
	Confirm  string     // address that confirms the sign-in before a passkey is added
	Password views.Link // begins to set up a password, or changes it
	Sessions []Session
	EndAll   string // address that ends all other sessions; empty if there is no other session
	Notify   string // address of the account's notification settings; empty if it gets no notifications
	Keyboard string // address of the page of the keys
}

// Method is a sign-in method.
type Method struct {
	Name    string
	Text    string
	Subject string // name of the passkey; empty for the password
	Rename  string // address of the form for the name; empty for the password
	Remove  Button
}

// Session is a session of the account.
type Session struct {
	Browser string
	Text    string
	Current bool
	End     Button
}

// Button is a form with one button. Without an Action there is no button.
type Button struct {
	Action  string
	Text    string
	Subject string // object of the action, for screen readers
	Hidden  []Hidden
	Danger  bool
}

// SetPassword is the page that asks for a new password.
type SetPassword struct {
	Frame
	Back     views.Link
	Heading  string
	Problem  string
	Action   string
	Password Field
}

// Keyboard is the page of the keys that open places and rows.
type Keyboard struct {
	Frame
	Back   views.Link
	On     bool // the keys are enabled
	Rows   []Shortcut
	Toggle Button // enables or disables the keys
}

// Shortcut is a key with its effect.
type Shortcut struct {
	Keys   []string // pressed one after the other
	Effect string
}
