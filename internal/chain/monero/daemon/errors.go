package daemon

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"chequer/internal/format"
)

var (
	// ErrLogin means that the daemon refuses the user and the password, or asks for them and none are set.
	ErrLogin = errors.New("the daemon refuses the login")
	// ErrCertificate means that the daemon's certificate is not the pinned one, or that it is not trusted and none is
	// pinned.
	ErrCertificate = errors.New("the daemon's certificate is refused")
	// ErrTooLarge means that an answer is larger than its limit. Nothing of the answer is used.
	ErrTooLarge = errors.New("the answer is too large")
	// ErrNoBlock means that the chain of the daemon does not reach a height, or that the daemon has no block with a hash.
	ErrNoBlock = errors.New("the daemon has no such block")
	// ErrBusy means that the daemon does not answer a call before it is synchronized.
	ErrBusy = errors.New("the daemon is busy synchronizing")
	// ErrRestricted means that a daemon with restricted RPC refuses a call.
	ErrRestricted = errors.New("the restricted RPC of the daemon refuses the call")
	// ErrBootstrap means that an answer is not the daemon's: it passes calls on to a bootstrap daemon while it
	// synchronizes.
	ErrBootstrap = errors.New("the daemon answers with data of its bootstrap daemon")
	// ErrAnswer means that an answer is malformed, or is not the answer to the call.
	ErrAnswer = errors.New("unexpected answer")
)

// MissedError means that the daemon does not have some transactions.
type MissedError struct {
	Hashes []string // at least one
}

// Error implements error.
func (e *MissedError) Error() string {
	const shown = 3
	list := strings.Join(e.Hashes[:min(len(e.Hashes), shown)], ", ")
	if more := len(e.Hashes) - shown; more > 0 {
		list += fmt.Sprintf(" and %s more", format.Grouped(int64(more)))
	}
	return "the daemon does not have the " + plural(len(e.Hashes), "transaction", "transactions") + " " + list
}

func plural(n int, singular, plural string) string {
	if n == 1 {
		return singular
	}
	return plural
}

// NetworkError means that the daemon is on another network than the settings name.
type NetworkError struct {
	Got, Want Network
	Setting   string
}

// Error implements error.
func (e *NetworkError) Error() string {
	return fmt.Sprintf("the daemon is on %s, want %s as in %s", format.OneLine(string(e.Got), maxQuoted), e.Want, e.Setting)
}

// BehindError means that the daemon does not have all blocks of its network.
type BehindError struct {
	// Height is the height of the daemon's newest block.
	Height int64
	// Target is the height of the newest block of the daemon's peers, zero if unknown.
	Target int64
}

// Error implements error.
func (e *BehindError) Error() string {
	if e.Target <= e.Height {
		return fmt.Sprintf("the daemon is synchronizing at block %s", format.Grouped(e.Height))
	}
	return fmt.Sprintf("the daemon is synchronizing: %s blocks to go", format.Grouped(e.Target-e.Height))
}

// OldTipError means that the daemon's newest block is too old: it has lost its peers, or its peers are on another chain.
type OldTipError struct {
	Height int64
	Age    time.Duration
}

// Error implements error.
func (e *OldTipError) Error() string {
	return fmt.Sprintf("the newest block %s of the daemon is %s old", format.Grouped(e.Height), roundedAge(e.Age))
}

// roundedAge returns an age of at least an hour in whole hours or days.
func roundedAge(age time.Duration) string {
	const day = 24 * time.Hour
	if age < 2*day {
		return fmt.Sprintf("%d h", age/time.Hour)
	}
	return fmt.Sprintf("%d days", age/day)
}

// ForkError means that a block follows the rules of a hard fork that this program does not know.
type ForkError struct {
	Height int64
	// Version is the number of the hard fork, the major version of the block.
	Version int
}

// Error implements error.
func (e *ForkError) Error() string {
	return fmt.Sprintf("block %s is of hard fork %d, and this version of Chequer reads blocks up to hard fork %d: update Chequer",
		format.Grouped(e.Height), e.Version, knownFork)
}
