package invoice

// WorthAccepting is what a person may let stand.
func WorthAccepting(inv *Invoice) []Transfer { return inv.worthAccepting() }
