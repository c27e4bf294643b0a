package invoice

// WorthAccepting is what a person may let stand.
func WorthAccepting(inv *Invoice) []Transfer { return inv.worthAccepting() }

// KeptTransfers is how many transfers are recorded before small ones are folded.
const KeptTransfers = keptTransfers

// ObserveKeeping is Observe that records so many transfers before it folds small ones.
func ObserveKeeping(inv *Invoice, o Observation, kept int) { inv.observe(o, kept) }
