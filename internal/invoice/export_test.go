package invoice

// Acceptable returns the transfers that the merchant may accept.
func Acceptable(inv *Invoice) []Transfer { return inv.acceptable() }

// FoldThreshold is the number of transfers that are recorded before small ones are folded.
const FoldThreshold = foldThreshold

// ObserveKeeping is Observe with another number of transfers that are recorded before small ones
// are folded.
func ObserveKeeping(inv *Invoice, o Observation, kept int) { inv.observe(o, kept) }
