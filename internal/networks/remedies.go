package networks

// addressQueries is the setting that allows endpoints to be queried for the balances of addresses.
const addressQueries = "CHEQUER_EVM_ADDRESS_QUERIES"

// addressCost names the information that endpoints receive if they are queried for balances.
const addressCost = "your addresses, and the creation time and balance of each"

// Remedies describes how endpoints can be allowed to read balances, and the information that they receive.
// setting is the name of the setting with the endpoints.
func Remedies(setting string) string {
	return "name a node of your own in " + setting + " as trusted:http://…, or set " + addressQueries + "=on, which lets public endpoints learn " + addressCost
}
