package desk

import "chequer/views"

// Accounts is the list of the accounts of a shop, with the form that invites another.
type Accounts struct {
	Frame
	Tabs        []Tab
	Problem     string
	Rows        []AccountRow
	Roles       []string // column headings of the table of permissions
	Permissions []Permission
	Invite      Invite
	Invitations []Invitation
}

// AccountRow is an account in the list.
type AccountRow struct {
	Name     string
	URL      string
	Role     string
	Owner    bool
	SignIn   string
	LastUsed string
}

// Permission is a row of the table of permissions.
type Permission struct {
	Name   string
	Grants []Grant // one for each role
}

// Grant is the extent of a permission that a role has.
type Grant struct {
	Text   string
	Denied bool
}

// Invite is the form that invites an account. Without an Action there is no form.
type Invite struct {
	Action string
	Role   Choice
}

// Invitation is an invitation that was not used yet.
type Invitation struct {
	Name   string
	Text   string
	Revoke Button
}

// Invited is the page that shows the link of a new invitation once.
type Invited struct {
	Frame
	Heading string
	Intro   string
	Link    string
	Copy    Copy // copies the link
	Done    views.Link
}

// Member is the page of another account of the shop, as an owner of the shop sees it.
type Member struct {
	Frame
	Back      views.Link
	Problem   string
	Member    string // the account's name
	Facts     []Fact
	SetRole   string // address that takes a new role
	Role      Choice
	Remove    string // address that removes the account from the shop
	RemoveAsk string // heading of the consequences: "Remove Jonas?"
	Result    []string
	RemoveDo  string // text of the button
}

// Fact is a name with a value.
type Fact struct {
	Name  string
	Value string
}
