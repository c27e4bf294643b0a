package invoice

// WorthAccepting returns the transfers that the merchant may accept.
func WorthAccepting(inv *Invoice) []Transfer { return inv.worthAccepting() }

// KeptTransfers is the number of transfers that are recorded before small ones are folded.
const KeptTransfers = keptTransfers

// ObserveKeeping is Observe with another number of transfers that are recorded before small ones
// are folded.
func ObserveKeeping(inv *Invoice, o Observation, kept int) { inv.observe(o, kept) }
