package account

import "slices"

// Role determines the permissions of an account in one shop.
type Role string

// The roles.
const (
	Owner      Role = "owner"
	Manager    Role = "manager"
	Seller     Role = "seller"
	Bookkeeper Role = "bookkeeper"
	Developer  Role = "developer"
)

// Roles are all roles, in the order in which lists show them.
var Roles = []Role{Owner, Manager, Seller, Bookkeeper, Developer}

// Known reports whether r is a role.
func (r Role) Known() bool { return slices.Contains(Roles, r) }

// Permission is a group of actions that are allowed or refused together.
type Permission string

// The permissions.
const (
	ViewPayments     Permission = "view payments"      // payments and totals
	Sell             Permission = "sell"               // invoices, checkout links and products
	Decide           Permission = "decide"             // accept, cancel, requote and refund
	DecideHighRisk   Permission = "decide high risk"   // decisions that waive money, relax a payment rule or set a refund address
	Export           Permission = "export"             // reports and exports
	Configure        Permission = "configure"          // theme, payment settings, terminals
	ManageKeys       Permission = "manage keys"        // API keys and endpoints
	ManageWallets    Permission = "manage wallets"     // wallets and the exchange account
	ViewWallets      Permission = "view wallets"       // wallets without their whole keys
	ManageAccounts   Permission = "manage accounts"    // accounts and roles
	ManageShops      Permission = "manage shops"       // name of the shop, and new shops
	BackUp           Permission = "back up"            // copies of the database with the master key
	ManageSignIn     Permission = "manage sign-in"     // the account's own sign-in methods
	ViewHealth       Permission = "view health"        // state of the server
	ViewLog          Permission = "view audit log"     // audit log
	ExportLog        Permission = "export audit log"   // download of the audit log
	RemoveNotes      Permission = "remove notes"       // notes of other accounts about invoices
	ViewOwnTerminals Permission = "view own terminals" // invoices of the account's terminals, of the current day
)

// Permissions are all permissions.
var Permissions = []Permission{
	ViewPayments, Sell, Decide, DecideHighRisk, Export, Configure, ManageKeys, ViewWallets, ManageWallets, ManageAccounts, ManageShops, BackUp, ManageSignIn,
	ViewHealth, ViewLog, ExportLog, RemoveNotes, ViewOwnTerminals,
}

// Grant is the extent of a permission that a role has.
type Grant int

// The extents.
const (
	Denied  Grant = iota
	StepUp        // only shortly after the account has confirmed its sign-in
	Allowed       // always
)

// grants are the permissions of each role. A permission that is absent is denied.
var grants = map[Permission]map[Role]Grant{
	ViewPayments:     {Owner: Allowed, Manager: Allowed, Bookkeeper: Allowed, Developer: Allowed},
	Sell:             {Owner: Allowed, Manager: Allowed, Developer: Allowed},
	Decide:           {Owner: Allowed, Manager: Allowed},
	DecideHighRisk:   {Owner: StepUp, Manager: StepUp},
	Export:           {Owner: Allowed, Manager: Allowed, Bookkeeper: Allowed},
	Configure:        {Owner: Allowed, Manager: Allowed},
	ManageKeys:       {Owner: StepUp, Developer: StepUp},
	ViewWallets:      {Owner: Allowed, Manager: Allowed},
	ManageWallets:    {Owner: StepUp},
	ManageAccounts:   {Owner: StepUp},
	ManageShops:      {Owner: StepUp},
	BackUp:           {Owner: StepUp},
	ManageSignIn:     {Owner: StepUp, Manager: StepUp, Seller: StepUp, Bookkeeper: StepUp, Developer: StepUp},
	ViewHealth:       {Owner: Allowed, Manager: Allowed, Developer: Allowed},
	ViewLog:          {Owner: Allowed, Manager: Allowed, Bookkeeper: Allowed, Developer: Allowed},
	ExportLog:        {Owner: StepUp, Manager: StepUp, Bookkeeper: StepUp, Developer: StepUp},
	RemoveNotes:      {Owner: Allowed},
	ViewOwnTerminals: {Seller: Allowed},
}

// Grant returns the extent to which the role has a permission.
func (r Role) Grant(p Permission) Grant { return grants[p][r] }

// Holders returns the roles that have a permission, so that a refusal can name the accounts that may
// act.
func (p Permission) Holders() (roles []Role) {
	for _, r := range Roles {
		if r.Grant(p) != Denied {
			roles = append(roles, r)
		}
	}
	return roles
}
