package sweep

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/chain"
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
	waiting    map[evm.Hash]bool            // transactions of browser wallets in no block, which an endpoint knows
	nonces     map[evm.Address]uint64       // after tip
	balances   map[evm.Address]*big.Int     // of the coin, after tip
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
		if row.State == recorded.Moved || !s.settles(i+1) {
			continue
		}
		state, tx := s.stateOf(v, i+1)
		funded := s.fundingFee(v, i+1)
		if state != row.State || tx != row.Tx || (funded == nil) != (row.FundingFee == nil) {
			c := s.row(i+1, state, tx)
			c.Row.FundingFee = funded
			changes = append(changes, c)
		}
	}
	s.shareFees(v, changes)
	s.valueFees(changes)
	return v, s.save(ctx, changes)
}

// shareFees sets the shares of the rows that are moved now in the fees of the transactions of the signed file. All rows that one transaction
// moves are among them. The fees of other transactions are not those of the addresses or of the payer.
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

// stateOf returns the state of a row and the transaction to which it belongs.
func (s *Sender) stateOf(v *survey, n int) (recorded.State, string) {
	row, known := s.record.Rows[n-1], s.record.Plan.Rows[n-1]
	for tx, r := range v.receipts {
		if s.moves(r, n) {
			if !v.isFinal(r) {
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
	over := !v.final.Time.Before(s.record.Plan.ValidUntil)
	if over && !v.rows[n-1].used {
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
			return v.nonces[one.from] > one.Nonce
		}
	}
	return !v.waiting[s.hashOf(row.Tx)] && s.now().Sub(row.ChangedAt) >= lostAfter
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

// survey reads what the network shows about the plan.
func (s *Sender) survey(ctx context.Context) (*survey, error) {
	v := &survey{rows: make([]condition, len(s.record.Rows)), receipts: map[evm.Hash]*quorum.Receipt{}}
	for _, read := range []func(context.Context, *survey) error{s.readBlocks, s.readReceipts, s.readAccounts, s.readTokens, s.readFunded, s.findTransactions} {
		if err := read(ctx, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// readBlocks reads the newest block, and the newest that is final for any value.
func (s *Sender) readBlocks(ctx context.Context, v *survey) error {
	best, err := s.evm.Quorum.Best(ctx)
	if err != nil {
		return err
	}
	v.tip = best.Header
	depth := 1
	for _, asset := range slices.Concat(s.evm.Assets(), s.evm.Bridged()) {
		if s.uses(asset) {
			depth = max(depth, asset.Policy.Confirmations(math.MaxInt64))
		}
	}
	height := max(best.Height-int64(depth)+1, best.Final, 0)
	headers, err := s.evm.Quorum.Headers(ctx, height, height)
	if err != nil {
		return fmt.Errorf("read block %d: %w", height, err)
	}
	v.final = headers[0]
	return nil
}

// uses reports whether a row of the plan has an asset.
func (s *Sender) uses(asset chain.Asset) bool {
	return slices.ContainsFunc(s.record.Plan.Rows, func(r plan.Row) bool { return r.Asset == asset.Code })
}

// readReceipts reads the receipts of the signed transactions and of those that are recorded.
func (s *Sender) readReceipts(ctx context.Context, v *survey) error {
	var txs []evm.Hash
	for _, one := range s.steps {
		txs = append(txs, one.hash)
	}
	for _, row := range s.record.Rows {
		if hash := s.hashOf(row.Tx); row.Tx != "" && row.State != recorded.Moved && !slices.Contains(txs, hash) {
			txs = append(txs, hash)
		}
	}
	if err := s.addReceipts(ctx, v, txs); err != nil {
		return err
	}
	return s.readWaiting(ctx, v, txs[len(s.steps):])
}

// readWaiting reads which of the transactions in no block are known to the endpoints.
func (s *Sender) readWaiting(ctx context.Context, v *survey, txs []evm.Hash) error {
	v.waiting = map[evm.Hash]bool{}
	missing := slices.DeleteFunc(txs, func(tx evm.Hash) bool { return v.receipts[tx] != nil })
	for batch := range slices.Chunk(missing, callBatch) {
		known, err := s.evm.Quorum.Known(ctx, batch)
		if err != nil {
			return fmt.Errorf("look for transactions: %w", err)
		}
		for i, tx := range batch {
			v.waiting[tx] = known[i]
		}
	}
	return nil
}

// addReceipts reads receipts and keeps those of transactions that are in a block of the best chain.
func (s *Sender) addReceipts(ctx context.Context, v *survey, txs []evm.Hash) error {
	for batch := range slices.Chunk(txs, callBatch) {
		mined, err := s.evm.Quorum.Mined(ctx, v.tip.Height, batch)
		if err != nil {
			return err
		}
		for _, m := range mined {
			v.receipts[m.Tx] = &m.Receipt
		}
	}
	return nil
}

// readAccounts reads the nonces and the coins of the senders of transactions, and sets the conditions of the rows whose addresses send one.
func (s *Sender) readAccounts(ctx context.Context, v *survey) error {
	var accounts []evm.Address
	for _, one := range s.steps {
		if !slices.Contains(accounts, one.from) {
			accounts = append(accounts, one.from)
		}
	}
	v.nonces, v.balances = map[evm.Address]uint64{}, map[evm.Address]*big.Int{}
	if len(accounts) == 0 {
		return nil
	}
	nonces, err := s.evm.Quorum.Nonces(ctx, v.tip, accounts)
	if err != nil {
		return fmt.Errorf("read the nonces: %w", err)
	}
	coins, err := s.evm.Quorum.Balances(ctx, v.tip, accounts)
	if err != nil {
		return fmt.Errorf("read the balances: %w", err)
	}
	for i, a := range accounts {
		v.nonces[a], v.balances[a] = nonces[i], coins[i]
	}
	for _, one := range s.steps {
		if one.isPayers() {
			continue
		}
		n := one.rows[0]
		c, gas := &v.rows[n-1], s.step(funding, n)
		c.state = recorded.Planned
		c.used = v.nonces[one.from] > one.Nonce
		switch needed := new(big.Int).Add(one.Value, one.MaxFee()); {
		case v.receipts[one.hash] != nil:
		case c.used:
			c.state, c.why = recorded.NothingThere, reasonNonce
		case v.balances[one.from].Cmp(needed) >= 0:
		case gas != nil && v.receipts[gas.hash] == nil && v.nonces[gas.from] <= gas.Nonce:
			c.awaitsFunding = true
		case s.record.Plan.Rows[n-1].Way == plan.ByFunding:
			c.state, c.why = recorded.Refused, reasonFunding
		default:
			c.state = recorded.NothingThere
		}
	}
	return nil
}

// readTokens sets the conditions of the rows that have authorizations.
func (s *Sender) readTokens(ctx context.Context, v *survey) error {
	return s.eachToken(plan.ByAuthorization, func(contract evm.Address, numbers []int) error { return s.readToken(ctx, v, contract, numbers) })
}

// readFunded sets the conditions of the funded rows whose token cannot be moved.
func (s *Sender) readFunded(ctx context.Context, v *survey) error {
	if len(s.signed.Rows) == 0 {
		return nil
	}
	return s.eachToken(plan.ByFunding, func(contract evm.Address, numbers []int) error { return s.readHeld(ctx, v, contract, numbers) })
}

// eachToken calls read for each token with the numbers of its rows that are moved in a way.
func (s *Sender) eachToken(way plan.Way, read func(contract evm.Address, numbers []int) error) error {
	byContract := map[evm.Address][]int{}
	var order []evm.Address
	for i, r := range s.record.Plan.Rows {
		if r.Way != way {
			continue
		}
		if byContract[r.Contract] == nil {
			order = append(order, r.Contract)
		}
		byContract[r.Contract] = append(byContract[r.Contract], i+1)
	}
	for _, contract := range order {
		if err := read(contract, byContract[contract]); err != nil {
			return fmt.Errorf("ask the token %s: %w", contract, err)
		}
	}
	return nil
}

// results returns the results of calls, after the newest block.
func (s *Sender) results(ctx context.Context, v *survey, calls []evm.Call) (results [][]byte, err error) {
	for batch := range slices.Chunk(calls, callBatch) {
		part, err := s.evm.Quorum.Results(ctx, v.tip, batch)
		if err != nil {
			return nil, err
		}
		results = append(results, part...)
	}
	return results, nil
}

// readHeld sets the conditions of the funded rows of one token that cannot be moved.
func (s *Sender) readHeld(ctx context.Context, v *survey, contract evm.Address, numbers []int) error {
	p := s.record.Plan
	calls := blockedCalls(contract, p.To)
	for _, n := range numbers {
		calls = append(calls, blockedCalls(contract, p.Rows[n-1].From)...)
		calls = append(calls, evm.Call{To: contract, Data: evm.EncodeCall(balanceOf, evm.AddressWord(p.Rows[n-1].From))})
	}
	results, err := s.results(ctx, v, calls)
	if err != nil {
		return err
	}
	for i, n := range numbers {
		c, answers := &v.rows[n-1], results[2+3*i:]
		if one := s.step(moving, n); c.state != recorded.Planned || v.receipts[one.hash] != nil {
			continue
		}
		switch {
		case isBlocked(results) || isBlocked(answers):
			c.state = recorded.Blocked
		case new(big.Int).SetBytes(answers[2]).Cmp(p.Rows[n-1].Amount) < 0:
			c.state = recorded.NothingThere
		}
	}
	return nil
}

// readToken sets the conditions of the rows of one token.
func (s *Sender) readToken(ctx context.Context, v *survey, contract evm.Address, numbers []int) error {
	p := s.record.Plan
	calls := []evm.Call{
		{To: contract, Data: evm.EncodeCall(domainSeparator)},
		{To: contract, Data: evm.EncodeCall(isBlacklisted, evm.AddressWord(p.To))},
	}
	for _, n := range numbers {
		from := evm.AddressWord(p.Rows[n-1].From)
		calls = append(calls,
			evm.Call{To: contract, Data: evm.EncodeCall(authorizationState, from, evm.Word(p.Nonce(n)))},
			evm.Call{To: contract, Data: evm.EncodeCall(isBlacklisted, from)},
			evm.Call{To: contract, Data: evm.EncodeCall(balanceOf, from)})
	}
	results, err := s.results(ctx, v, calls)
	if err != nil {
		return err
	}
	domain := p.Domain(p.Rows[numbers[0]-1]).Separator()
	for i, n := range numbers {
		c, answers := &v.rows[n-1], results[2+3*i:]
		c.state, c.used = recorded.Planned, isTrue(answers[0])
		switch {
		case c.used:
			c.state, c.why = recorded.Refused, reasonUsed
		case !v.tip.Time.Before(p.ValidUntil):
			c.state = recorded.Expired
		case !slices.Equal(results[0], domain[:]):
			c.state, c.why = recorded.Refused, reasonDomain
		case isTrue(results[1]) || isTrue(answers[1]):
			c.state = recorded.Blocked
		case new(big.Int).SetBytes(answers[2]).Cmp(p.Rows[n-1].Amount) < 0:
			c.state = recorded.NothingThere
		}
	}
	return nil
}

// findTransactions finds the transactions of others that used authorizations, and keeps their receipts.
func (s *Sender) findTransactions(ctx context.Context, v *survey) error {
	missing := map[evm.Address][]evm.Hash{} // nonces by contract
	for i, c := range v.rows {
		row := s.record.Plan.Rows[i]
		isShown := func(tx evm.Hash) bool { return s.moves(v.receipts[tx], i+1) }
		if row.Way != plan.ByAuthorization || !c.used || s.record.Rows[i].State == recorded.Moved || slices.ContainsFunc(txsOf(v), isShown) {
			continue
		}
		missing[row.Contract] = append(missing[row.Contract], s.record.Plan.Nonce(i+1))
	}
	for contract, nonces := range missing {
		search := quorum.Search{From: int64(s.record.Plan.Block), To: v.tip}
		txs, err := s.evm.Quorum.Transactions(ctx, search, quorum.Filter{Contract: contract, Topics: [][]evm.Hash{{usedTopic}, nil, nonces}})
		if err != nil {
			return fmt.Errorf("find the transactions that used authorizations: %w", err)
		}
		if err := s.addReceipts(ctx, v, txs); err != nil {
			return err
		}
	}
	return nil
}

// txsOf returns the hashes of the receipts.
func txsOf(v *survey) (list []evm.Hash) {
	for tx := range v.receipts {
		list = append(list, tx)
	}
	return list
}
