package desk

import "chequer/views"

// Keys is the list of the API keys of a shop, with the form that creates another.
type Keys struct {
	Frame
	Tabs   []Tab
	Rows   []KeyRow
	Action string // address that creates a key
	Label  Field
	Mode   Choice
	Scopes Checks
}

// KeyRow is a key in the list.
type KeyRow struct {
	Name    string
	URL     string
	Key     string // public part
	Test    bool
	Scopes  []Scope
	Used    string
	Created string
	Revoked bool
}

// Scope is a scope of a key.
type Scope struct {
	Name string
	Wide bool // gives more rights than a shop needs
}

// Key is the page of one key, with the consequences of its revocation.
type Key struct {
	Frame
	Back    views.Link
	Problem string
	Row     KeyRow
	Facts   []Fact
	Revoke  string // address that revokes the key; empty if it is revoked
	Ask     string // heading of the consequences: "Revoke "Old plug-in"?"
	Results []Result
}

// Secret is the page that shows a new secret once.
type Secret struct {
	Frame
	Heading string
	Intro   string
	Values  []SecretValue
	Done    views.Link
}

// SecretValue is a value of a secret, with the button that copies it.
type SecretValue struct {
	Name, Value string
	Copy        Copy
}
