package invoice

// Acceptable returns the transfers that the merchant may accept.
func Acceptable(inv *Invoice) []Transfer { return inv.acceptable(inv.ledger()) }

// FoldThreshold is the number of transfers that are recorded before small ones are folded.
const FoldThreshold = foldThreshold

// ObserveWithThreshold is Observe with a threshold other than FoldThreshold.
func ObserveWithThreshold(inv *Invoice, o Observation, threshold int) { inv.observe(o, threshold) }
