package invoice

// Tally is the number of a merchant's invoices in one mode.
type Tally struct {
	Statuses map[Status]int64
	// Exceptions counts the invoices with an exception by their status. An invoice may have several.
	Exceptions map[Exception]map[Status]int64
	// NeedDecision counts the invoices that wait for a decision of the merchant.
	NeedDecision int64
}

// NewTally returns a Tally of no invoices.
func NewTally() Tally {
	return Tally{Statuses: map[Status]int64{}, Exceptions: map[Exception]map[Status]int64{}}
}

// Add counts an invoice.
func (t *Tally) Add(s Summary) {
	t.Statuses[s.Status]++
	for _, e := range s.Exceptions {
		t.AddException(e, s.Status, 1)
	}
	if s.NeedsDecision() {
		t.NeedDecision++
	}
}

// AddException counts invoices of a status with an exception.
func (t *Tally) AddException(e Exception, status Status, count int64) {
	if t.Exceptions[e] == nil {
		t.Exceptions[e] = map[Status]int64{}
	}
	t.Exceptions[e][status] += count
}
