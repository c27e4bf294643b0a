// Package tokentest makes identifiers for tests.
package tokentest

import (
	"fmt"
	"sync/atomic"
)

// Counter makes identifiers from the numbers 1, 2, 3 and so on. Goroutines can share it.
type Counter struct{ last atomic.Int64 }

// New returns the next number as decimal digits, with zeros before it up to a length. It stands in for token.New.
func (c *Counter) New(length int) string { return fmt.Sprintf("%0*d", length, c.last.Add(1)) }

// ID returns the next number as the identifier of an invoice: 32 digits.
func (c *Counter) ID() string { return c.New(32) }
