package recorded

import "math/big"

// Proposal lists the transactions that a browser wallet can send for a recorded plan now.
type Proposal struct {
	// Sweep is the plan with the states of its rows, as the network shows them.
	Sweep Sweep
	// Carriers are the transactions that the wallet can send. Each is independent of the others.
	Carriers []Carrier
	// Failing are the rows that no carrier has because the network would not move them.
	Failing []Failing
	// Fault is why nothing can be sent now; empty if there is no such reason.
	Fault string
}

// Carrier is a transaction to Multicall3 that carries authorizations. Any account can send it.
type Carrier struct {
	Rows     []int // numbers of the rows, ascending
	Data     []byte
	Estimate uint64   // gas that it needs
	Gas      uint64   // limit of its gas: the estimate with a margin
	Fee      *big.Int // the most that it costs at the present fees, with that for its data, in the coin's smallest units
}

// Failing is a row that would not be moved.
type Failing struct {
	Number int
	State  State
	Why    string // more than the state; may be empty
}

// FileError means that a signed file is not that of a recorded plan.
type FileError struct {
	Reason error // names the difference
}

// Error implements error.
func (e *FileError) Error() string { return e.Reason.Error() }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Reason }

// NetworkError means that the network of a plan could not be read.
type NetworkError struct{ Reason error }

// Error implements error.
func (e *NetworkError) Error() string { return e.Reason.Error() }

// Unwrap returns the reason.
func (e *NetworkError) Unwrap() error { return e.Reason }
