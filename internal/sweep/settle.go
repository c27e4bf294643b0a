package sweep

import (
	"context"
	"math/big"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/evm"
	"chequer/internal/money"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
)

// Topics of the events of a token. See EIP-20 and EIP-3009.
var (
	transferTopic = evm.Keccak256([]byte("Transfer(address,address,uint256)"))
	usedTopic     = evm.Keccak256([]byte("AuthorizationUsed(address,bytes32)"))
)

// Why a row is not moved now, beside the states.
const (
	reasonDomain   = "the token has another EIP-712 domain than the plan"
	reasonNonce    = "its address has sent another transaction"
	reasonContract = "the contract refuses it"
	reasonUsed     = "its authorization is used, and no transaction with its transfer is found"
	reasonCoin     = "its address does not accept the coin for the fee with the gas of the plan"
	reasonLate     = "in the last hour of the plan no address is funded"
	reasonFunding  = "its address holds too little for the fee, and the payer cannot send it any more"
)

// condition is the state of a row on the network.
type condition struct {
	state recorded.State // Planned if it can be moved
	why   string         // more than the state; may be empty
	used  bool           // the authorization or the nonce is used, so the row cannot be sent
	// awaitsFunding is set if the address holds too little for the fee of the transaction, and the payer can still send it.
	awaitsFunding bool
}

// survey is the state of a plan on the network.
type survey struct {
	tip, final ethereum.Header
	rows       []condition
	receipts   map[evm.Hash]*quorum.Receipt // of transactions in blocks
	// known are the transactions without a receipt that an endpoint knows: those of browser wallets, those of the signed file whose nonce is used,
	// so that the endpoints do not agree on the receipt yet, and when the plan is over those that are sent.
	known    map[evm.Hash]bool
	nonces   map[evm.Address]uint64   // after tip
	balances map[evm.Address]*big.Int // of the coin, after tip
}

// isFinal reports whether a receipt is in a final block.
func (v *survey) isFinal(r *quorum.Receipt) bool { return r != nil && r.Height <= v.final.Height }

// Settle reads from the network which rows are moved, by any transaction, and records the states. It reports whether all rows that were
// sent have a final state.
func (s *Sender) Settle(ctx context.Context) (settled bool, err error) {
	_, err = s.settle(ctx)
	return s.record.Count(recorded.Sent) == 0, err
}

func (s *Sender) settle(ctx context.Context) (*survey, error) {
	v, err := s.survey(ctx)
	if err != nil {
		return nil, &recorded.NetworkError{Reason: err}
	}
	var changes []recorded.Change
	for i, row := range s.record.Rows {
		if !s.settles(i + 1) {
			continue
		}
		if row.State == recorded.Moved {
			changes = append(changes, s.openFees(v, i+1)...)
			continue
		}
		state, tx := s.stateOf(v, i+1)
		fee, funded := s.ownFee(v, i+1), s.fundingFee(v, i+1)
		if state != row.State || tx != row.Tx || (fee == nil) != (row.Fee == nil) || (funded == nil) != (row.FundingFee == nil) {
			c := s.row(i+1, state, tx)
			c.Row.Fee, c.Row.FundingFee = fee, funded
			changes = append(changes, c)
		}
	}
	s.shareFees(v, changes)
	changes = slices.DeleteFunc(changes, func(c recorded.Change) bool {
		was := s.record.Rows[c.Number-1]
		return was.State == recorded.Moved && (was.Fee == nil) == (c.Row.Fee == nil) && (was.FundingFee == nil) == (c.Row.FundingFee == nil)
	})
	s.valueFees(changes)
	return v, s.save(ctx, changes)
}

// openFees returns a change of a row that is moved, if a fee of it is not recorded yet. It has the fee of the funding, if that is known now.
func (s *Sender) openFees(v *survey, n int) []recorded.Change {
	row := s.record.Rows[n-1]
	if row.FundingFee == nil {
		row.FundingFee = s.fundingFee(v, n)
	}
	if row.Fee != nil && row.FundingFee == nil {
		return nil
	}
	return []recorded.Change{{Number: n, Row: row}}
}

// shareFees sets the shares of the rows that are moved in the fees of the transactions of the signed file. All rows that one transaction moves
// are among them, or none. The fees of other transactions are not those of the addresses or of the payer.
func (s *Sender) shareFees(v *survey, changes []recorded.Change) {
	byTx := map[string][]*recorded.Change{}
	for i := range changes {
		c := &changes[i]
		isOurs := slices.ContainsFunc(s.steps, func(one step) bool { return one.hash.String() == c.Row.Tx })
		if c.Row.State == recorded.Moved && isOurs {
			byTx[c.Row.Tx] = append(byTx[c.Row.Tx], c)
		}
	}
	for tx, moved := range byTx {
		r := v.receipts[s.hashOf(tx)]
		if r == nil || r.Fee == nil {
			continue
		}
		share, rest := new(big.Int).QuoRem(r.Fee, big.NewInt(int64(len(moved))), new(big.Int))
		for i, c := range moved {
			c.Row.Fee = new(big.Int).Set(share)
			if int64(i) < rest.Int64() { // so that the shares add up to the fee
				c.Row.Fee.Add(c.Row.Fee, big.NewInt(1))
			}
		}
	}
}

// valueFees sets the values of the fees in euro, if the price of the coin is known.
func (s *Sender) valueFees(changes []recorded.Change) {
	if s.rates == nil {
		return
	}
	rate, err := coinRate(s.evm, s.rates)
	if err != nil {
		return // the rates have no price now, and the fee is recorded without its value
	}
	for i := range changes {
		if fee := changes[i].Row.TotalFee(); fee != nil {
			value := rate.Value(money.FromMinor(fee, rate.Coin()))
			changes[i].Row.FeeEUR = decimal.NewNullDecimal(decimal.RequireFromString(value.FloatString(feeDecimals)))
		}
	}
}

// feeDecimals is the number of decimals of the values of fees in euro.
const feeDecimals = 6

// fundingFee returns the fee of the final transaction that funded a row; nil if there is none.
func (s *Sender) fundingFee(v *survey, n int) *big.Int {
	one := s.step(funding, n)
	if one == nil {
		return nil
	}
	if r := v.receipts[one.hash]; v.isFinal(r) && r.Succeeded {
		return r.Fee
	}
	return nil
}

// ownFee returns the fee of the final transaction of the address of a row, also of one that failed; nil if there is none.
func (s *Sender) ownFee(v *survey, n int) *big.Int {
	one := s.step(moving, n)
	if one == nil || !v.isFinal(v.receipts[one.hash]) {
		return nil
	}
	return v.receipts[one.hash].Fee
}

// stateOf returns the state of a row and the transaction to which it belongs.
func (s *Sender) stateOf(v *survey, n int) (recorded.State, string) {
	row, known := s.record.Rows[n-1], s.record.Plan.Rows[n-1]
	for tx, r := range v.receipts {
		if s.moves(r, n) {
			if gas := s.step(funding, n); !v.isFinal(r) || gas != nil && v.known[gas.hash] {
				return recorded.Sent, tx.String()
			}
			return recorded.Moved, tx.String()
		}
	}
	if v.rows[n-1].used && known.Way == plan.ByAuthorization {
		if row.State == recorded.Sent {
			return row.State, row.Tx // the endpoints do not agree on its receipt yet
		}
		return recorded.Refused, ""
	}
	mayMove := row.State == recorded.Sent && v.known[s.hashOf(row.Tx)] && known.SendsTransaction() // the transaction of an address has no end
	if s.isOver(v) && !v.rows[n-1].used && !mayMove {
		return recorded.Expired, ""
	}
	if known.SendsTransaction() && v.rows[n-1].state == recorded.NothingThere && v.rows[n-1].used {
		return recorded.NothingThere, ""
	}
	if row.State != recorded.Sent {
		return row.State, row.Tx
	}
	r := v.receipts[s.hashOf(row.Tx)]
	switch {
	case r == nil && s.isLost(v, row):
		return recorded.Planned, ""
	case !v.isFinal(r):
		return row.State, row.Tx
	case s.isFunding(row.Tx) && v.rows[n-1].state == recorded.Planned:
		return row.State, row.Tx // the transaction of the address follows
	case v.rows[n-1].state == recorded.Planned:
		return recorded.Refused, row.Tx
	}
	return v.rows[n-1].state, row.Tx
}

// isOver reports whether the plan is over in a final block.
func (s *Sender) isOver(v *survey) bool { return !v.final.Time.Before(s.record.Plan.ValidUntil) }

// isFunding reports whether a recorded transaction is one that funds a row.
func (s *Sender) isFunding(tx string) bool {
	return slices.ContainsFunc(s.steps, func(one step) bool { return one.kind == funding && one.hash.String() == tx })
}

// hashOf returns the hash of a transaction that is recorded.
func (s *Sender) hashOf(tx string) evm.Hash {
	hash, _ := ethereum.ParseHash(tx) // recorded by Submit or by settle
	return evm.Hash(hash)
}

// lostAfter is the time after which a transaction of a browser wallet that no endpoint knows is lost. The wallet may have given it to
// other endpoints, which pass it on.
const lostAfter = 10 * time.Minute

// isLost reports whether a sent row whose transaction has no receipt can be sent again. A transaction of the signed file is lost if its
// sender has used its nonce for another one. Any other, which a browser wallet or a stranger sent, is lost if the endpoints do not know it.
func (s *Sender) isLost(v *survey, row recorded.Row) bool {
	for _, one := range s.steps {
		if one.hash.String() == row.Tx {
			return v.nonces[one.from] > one.Nonce && !v.known[one.hash]
		}
	}
	return !v.known[s.hashOf(row.Tx)] && s.now().Sub(row.ChangedAt) >= lostAfter
}

// moves reports whether a transaction with a receipt moved a row.
func (s *Sender) moves(r *quorum.Receipt, n int) bool {
	if r == nil || !r.Succeeded {
		return false
	}
	row := s.record.Plan.Rows[n-1]
	if one := s.step(moving, n); row.SendsTransaction() && (one == nil || one.hash != r.Tx) {
		return false
	}
	transferred, used := movesToken(r, row, s.record.Plan.To, s.record.Plan.Nonce(n))
	switch row.Way {
	case plan.ByOwn:
		return true
	case plan.ByFunding:
		return transferred
	}
	return transferred && used
}

// movesToken reports whether a receipt has the events of the transfer of a row: Transfer, and AuthorizationUsed.
func movesToken(r *quorum.Receipt, row plan.Row, to evm.Address, nonce evm.Hash) (transferred, used bool) {
	for _, e := range r.Events {
		if e.Contract != row.Contract || len(e.Topics) != 3 || e.Topics[1] != evm.Hash(evm.AddressWord(row.From)) {
			continue
		}
		units, isNumber := e.Word()
		transferred = transferred || e.Topics[0] == transferTopic && e.Topics[2] == evm.Hash(evm.AddressWord(to)) && isNumber && units.Cmp(row.Amount) == 0
		used = used || e.Topics[0] == usedTopic && e.Topics[2] == nonce
	}
	return transferred, used
}
