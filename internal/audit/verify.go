package audit

import (
	"fmt"

	"chequer/internal/seal"
)

// BrokenError means that the log differs from the log that was written.
type BrokenError struct {
	Number int64 // first entry that is wrong or missing
	Fault  string
}

// replaced is the fault of an entry that differs from the one of the mark.
const replaced = "is not the entry that was written first: the log was replaced"

// Error implements error.
func (e *BrokenError) Error() string { return fmt.Sprintf("audit log: entry %d %s", e.Number, e.Fault) }

// Verifier verifies the entries of a log in their order.
type Verifier struct {
	box  *seal.Box
	mark Head
	last Head
}

// NewVerifier returns a Verifier. The mark is a head that the log had earlier, which is stored outside
// the database; the zero Head if there is none.
func NewVerifier(box *seal.Box, mark Head) *Verifier { return &Verifier{box: box, mark: mark} }

// Next verifies the next entry. It returns a *BrokenError if the entry was changed, inserted or
// replaced, or if entries before it are missing.
func (v *Verifier) Next(e Entry) error {
	want := v.last.Number + 1
	switch {
	case e.Number > want:
		return &BrokenError{want, "is missing"}
	case e.Number < want:
		return &BrokenError{e.Number, "is out of order"}
	case !v.box.Check(e.MAC, purpose, e.fields(v.last.MAC)...):
		return &BrokenError{want, "was changed, or the entry before it was replaced"}
	case e.Number == v.mark.Number && e.MAC != v.mark.MAC:
		return &BrokenError{want, replaced}
	}
	v.last = e.Head()
	return nil
}

// End verifies that the log ends with the head that is stored in the database, and that it contains
// the mark. It returns the head.
func (v *Verifier) End(stored Head) (Head, error) {
	switch {
	case v.last.Number < stored.Number:
		return v.last, &BrokenError{v.last.Number + 1, "is missing at the end"}
	case v.last != stored:
		return v.last, &BrokenError{v.last.Number, "is not the last entry that was written"}
	case v.last.Number < v.mark.Number:
		return v.last, &BrokenError{v.last.Number + 1, fmt.Sprintf("is missing at the end: this server has seen %d entries", v.mark.Number)}
	}
	return v.last, nil
}
