package networks

// addressQueries is the setting that allows endpoints to be queried for the balances of addresses.
const addressQueries = "CHEQUER_EVM_ADDRESS_QUERIES"

// addressCost names the information that endpoints receive if they are queried for balances.
const addressCost = "your addresses, their creation times and their balances"

// networkCost returns the information that the public endpoints of a network receive. queryable reports
// whether they may be queried by address.
func networkCost(queryable bool) string {
	if queryable {
		return "the address of this server, the transactions that it looks up, and " + addressCost
	}
	return "the address of this server and the transactions that it looks up"
}

// Remedies describes how endpoints can be allowed to read balances, and what they learn from it.
// setting is the name of the setting with the endpoints.
func Remedies(setting string) string {
	return "name a node of your own in " + setting + " as trusted:http://…, or set " + addressQueries + "=on, which lets public endpoints learn " + addressCost
}

// UnwatchedReason describes why a network that is not watched is not offered, and how that can be changed.
func (n Network) UnwatchedReason() string {
	return "is not offered, because it is not watched; " + n.Setting + " switches it on"
}
