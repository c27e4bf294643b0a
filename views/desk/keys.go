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
	Manual views.Link // describes how a plug-in is connected
	// Plugins lead to the pages that create a key for a plug-in without a button of its own.
	Plugins []views.Link
}

// KeyRow is a key in the list.
type KeyRow struct {
	Name    string
	URL     string
	Key     string // public part
	Test    bool
	Plugin  bool // the key of a shop plug-in
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

// ConnectShops lists the shops to which a plug-in can be connected.
type ConnectShops struct {
	BareFrame
	Intro  string
	Shops  []views.Link
	Cancel views.Link
}

// Connect asks whether a shop plug-in may have a key.
type Connect struct {
	BareFrame
	Problem string
	Intro   string // names the plug-in that asks for a key
	Receive string // describes what happens with the key
	Host    string // the host that receives the key; empty if the key is shown
	Address string // the address that receives the key
	Action  string
	Hidden  []Hidden
	Facts   []Fact
	Mode    Choice
	Can     []string
	Cannot  []string
	Another views.Link // the choice of another shop; empty if there is only one
	Cancel  views.Link
}

// Connected sends a new key to a web shop.
type Connected struct {
	BareFrame
	Intro  string
	Action string // address of the web shop
	Hidden []Hidden
	Button string
}

// SecretValue is a value of a secret, with the button that copies it.
type SecretValue struct {
	Name, Value string
	Copy        Copy
}
