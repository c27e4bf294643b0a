// Package plan has the files of a sweep: the plan that the server makes, and the signed file that chequer sign
// writes. It imports nothing that reaches a network, because the computer that signs is offline.
package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"strings"
	"time"

	"chequer/internal/evm"
)

// EndMargin is the time before the end of a plan from which none of its transactions is sent, because a transaction may take that long to
// enter a block.
const EndMargin = 2 * time.Minute

// FundingMargin is the time before the end of a plan from which no address is funded, because its own transaction follows that of the payer.
const FundingMargin = time.Hour

// Limits of a plan.
const (
	MaxRows     = 1000
	MaxValidity = 30 * 24 * time.Hour
	maxCarried  = 200        // rows of one carrying transaction: a row has 480 bytes, and nodes refuse more than 128 KiB
	maxGas      = 16_777_216 // of one transaction, see EIP-7825
	minGas      = 21_000     // of one transaction, see the Ethereum yellow paper, appendix G
	MaxFile     = 1 << 20    // bytes of a file
)

// Way is the way in which a row moves an amount.
type Way string

// The ways.
const (
	// ByAuthorization is a signed authorization of EIP-3009, which any account can submit.
	ByAuthorization Way = "authorization"
	// ByOwn is a transaction of the address itself, which sends the coin of the network.
	ByOwn Way = "own"
	// ByFunding is a transaction of the address itself, which transfers a token without authorizations. The payer first sends the coin for
	// its fee to the address.
	ByFunding Way = "fund"
)

// Plan is a list of amounts that are moved from addresses of one account to one destination on one network. Read
// and Encode return valid plans.
type Plan struct {
	ID         string // "swp_" and letters and digits
	MadeAt     time.Time
	ValidUntil time.Time // signatures are valid before it
	Network    Network
	Block      uint64 // number of the block in which the balances were read
	To         evm.Address
	// Account is the derivation path of the account key; empty if the public key does not show it.
	Account   Path
	Payer     *Payer // nil if a browser wallet submits the authorizations
	Rows      []Row
	SkipAbove string // the highest share of a row's fee in its amount, in per cent, such as "2"
	Skipped   []Skipped
	Sums      []Sum // one for each asset of the rows
	FeeMax    Fee

	content []byte // the exact bytes of the file
	hash    [sha256.Size]byte
}

// Row is an amount of one asset at one address.
type Row struct {
	Steps    [2]uint32 // the unhardened steps of the derivation path below the account key
	From     evm.Address
	Way      Way
	Asset    string      // code of the payment method, such as EURC-BASE
	Contract evm.Address // of the token; zero for a coin
	Name     string      // of the EIP-712 domain of the token; empty if Way is not ByAuthorization
	Version  string      // of the EIP-712 domain of the token; empty if Way is not ByAuthorization
	Amount   *big.Int    // in smallest units
	// Cost is set for rows whose address sends a transaction.
	Cost Cost
	// Funding is the amount that the payer sends to the address before, in the coin's smallest units. It is set for rows whose Way is
	// ByFunding, and zero if the address holds enough.
	Funding *big.Int
}

// SendsTransaction reports whether the address of the row sends a transaction. Otherwise it signs an authorization.
func (r Row) SendsTransaction() bool { return r.Way != ByAuthorization }

// IsFunded reports whether the payer sends the coin for the fee to the address of the row.
func (r Row) IsFunded() bool { return r.Way == ByFunding && r.Funding.Sign() > 0 }

// Cost is the nonce and the limits of a transaction.
type Cost struct {
	Nonce  uint64
	Gas    uint64
	Tip    *big.Int // highest priority fee, in the coin's smallest units per gas
	FeeCap *big.Int // highest fee including the tip, in the coin's smallest units per gas
}

// Payer is an account that sends the coin for the fees of the funded rows to their addresses, and pays for the transactions that submit the
// authorizations, in this order.
type Payer struct {
	Address evm.Address
	Cost    Cost // nonce of the first transaction; the gas is FundGas, or that of the carrier
	// FundGas is the gas of each transaction that funds a row; zero if no row is funded.
	FundGas uint64
	// Carriers are the transactions in order. Together they carry all rows whose Way is ByAuthorization.
	Carriers []Carrier
}

// Carrier is a transaction of the payer.
type Carrier struct {
	Rows int // number of authorizations
	Gas  uint64
}

// Skipped is an amount that the plan does not move.
type Skipped struct {
	From   evm.Address
	Asset  string
	Amount *big.Int // in smallest units
	Why    Reason
}

// Reason is why an amount is skipped.
type Reason string

// The reasons.
const (
	Expensive Reason = "expensive" // its share of the fee is above SkipAbove
	Blocked   Reason = "blocked"   // by the issuer of the token
	NotFinal  Reason = "not_final"
	Watched   Reason = "watched" // a later payment to the address could not be seen
	NoWay     Reason = "no_way"  // the token has no authorizations
	Unpriced  Reason = "unpriced"
	Later     Reason = "later" // another row sends the only transaction of the address
)

// Sum is the sum of the rows of one asset.
type Sum struct {
	Asset    string
	Symbol   string // such as EURC
	Decimals int
	Amount   *big.Int // in smallest units
}

// Fee is the most that the transactions of a plan cost.
type Fee struct {
	Amount *big.Int // in the coin's smallest units
	Cents  int64    // the value of Amount in euro cents when the plan was made
}

// Bytes returns a copy of the exact bytes of the plan's file.
func (p Plan) Bytes() []byte { return append([]byte(nil), p.content...) }

// Hash returns the SHA-256 of the exact bytes of the plan's file.
func (p Plan) Hash() [sha256.Size]byte { return p.hash }

// Fingerprint returns the first 8 bytes of the hash in hex, in four groups.
func (p Plan) Fingerprint() string {
	var groups []string
	for i := 0; i < 8; i += 2 {
		groups = append(groups, hex.EncodeToString(p.hash[i:i+2]))
	}
	return strings.Join(groups, " ")
}

// nonceLabel separates the nonces of sweeps from other uses of Keccak-256.
const nonceLabel = "chequer-sweep-v1"

// Nonce returns the nonce of the authorization of the row with number n, which counts from 1: the Keccak-256 of
// the label, the hash of the plan and n as 8 bytes, big-endian.
func (p Plan) Nonce(n int) evm.Hash {
	return evm.Keccak256([]byte(nonceLabel), p.hash[:], binary.BigEndian.AppendUint64(nil, uint64(n)))
}

// Domain returns the EIP-712 domain of the token of a row.
func (p Plan) Domain(r Row) evm.Domain {
	return evm.Domain{Name: r.Name, Version: r.Version, ChainID: p.Network.ChainID, Contract: r.Contract}
}

// Authorization returns the authorization of the row with number n, which counts from 1.
func (p Plan) Authorization(n int) evm.Authorization {
	r := p.Rows[n-1]
	return evm.Authorization{From: r.From, To: p.To, Value: r.Amount, ValidBefore: uint64(p.ValidUntil.Unix()), Nonce: p.Nonce(n)}
}

// Digest returns the hash that the address of the row with number n signs, which counts from 1: of its
// authorization or of its transaction.
func (p Plan) Digest(n int) evm.Hash {
	r := p.Rows[n-1]
	if r.SendsTransaction() {
		return p.Transaction(r).SigningHash()
	}
	return p.Authorization(n).Digest(p.Domain(r))
}

// Transaction returns the transaction of a row whose address sends one.
func (p Plan) Transaction(r Row) evm.Transaction {
	t := p.transaction(r.Cost)
	if r.Way == ByFunding {
		t.To, t.Data = r.Contract, evm.EncodeCall("transfer(address,uint256)", evm.AddressWord(p.To), evm.UintWord(r.Amount)) // EIP-20
		return t
	}
	t.To, t.Value = p.To, r.Amount
	return t
}

// transaction returns a transaction on the plan's network without a receiver.
func (p Plan) transaction(c Cost) evm.Transaction {
	return evm.Transaction{ChainID: p.Network.ChainID, Nonce: c.Nonce, Tip: c.Tip, FeeCap: c.FeeCap, Gas: c.Gas, Value: new(big.Int)}
}

// authorized returns the numbers of the rows whose Way is ByAuthorization.
func (p Plan) authorized() (numbers []int) {
	for i, r := range p.Rows {
		if r.Way == ByAuthorization {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// Call returns the call of the token that makes the transfer of the row with number n, which counts from 1, with the
// signature of its authorization.
func (p Plan) Call(n int, s evm.Signature) evm.Call {
	return evm.Call{To: p.Rows[n-1].Contract, Data: p.Authorization(n).CallData(s)}
}

// Funded returns the numbers of the rows to whose addresses the payer sends the coin for the fee, in the order of its transactions.
func (p Plan) Funded() (numbers []int) {
	for i, r := range p.Rows {
		if r.IsFunded() {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// PayerTransactions returns the transactions of the payer: those that fund rows, and those that carry the authorizations of the rows with
// these signatures by the number of the row. It returns nil if the plan has no payer.
func (p Plan) PayerTransactions(signatures map[int]evm.Signature) (list []evm.Transaction) {
	if p.Payer == nil {
		return nil
	}
	numbers, cost := p.authorized(), p.Payer.Cost
	for _, n := range p.Funded() {
		cost.Gas = p.Payer.FundGas
		t := p.transaction(cost)
		t.To, t.Value = p.Rows[n-1].From, p.Rows[n-1].Funding
		list = append(list, t)
		cost.Nonce++
	}
	for _, carrier := range p.Payer.Carriers {
		var calls []evm.Call
		for _, n := range numbers[:carrier.Rows] {
			calls = append(calls, p.Call(n, signatures[n]))
		}
		numbers = numbers[carrier.Rows:]
		cost.Gas = carrier.Gas
		t := p.transaction(cost)
		t.To, t.Data = evm.Multicall3, evm.Aggregate3(calls)
		list = append(list, t)
		cost.Nonce++
	}
	return list
}

// FeeCap returns the most that the transactions of the plan can cost by their limits, in the coin's smallest units,
// without the fee that a rollup adds for its data on Ethereum. The coin that a funded row does not need stays at its address, and counts as
// cost.
func (p Plan) FeeCap() *big.Int {
	total := new(big.Int)
	for _, r := range p.Rows {
		if !r.SendsTransaction() {
			continue
		}
		fee := r.Cost.fee(r.Cost.Gas)
		if r.IsFunded() && r.Funding.Cmp(fee) > 0 {
			fee = r.Funding
		}
		total.Add(total, fee)
	}
	if p.Payer != nil {
		total.Add(total, p.Payer.Cost.fee(p.Payer.FundGas*uint64(len(p.Funded()))))
		for _, c := range p.Payer.Carriers {
			total.Add(total, p.Payer.Cost.fee(c.Gas))
		}
	}
	return total
}

// fee returns the highest fee of gas, in the coin's smallest units.
func (c Cost) fee(gas uint64) *big.Int {
	return new(big.Int).Mul(new(big.Int).SetUint64(gas), c.FeeCap)
}

// FundingSum returns the sum that the payer sends to the addresses of the funded rows, in the coin's smallest units.
func (p Plan) FundingSum() *big.Int {
	sum := new(big.Int)
	for _, n := range p.Funded() {
		sum.Add(sum, p.Rows[n-1].Funding)
	}
	return sum
}
