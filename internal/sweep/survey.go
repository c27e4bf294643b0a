package sweep

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
)

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
	v.known = map[evm.Hash]bool{}
	return s.readKnown(ctx, v, txs[len(s.steps):])
}

// readKnown reads which of the transactions without a receipt are known to an endpoint.
func (s *Sender) readKnown(ctx context.Context, v *survey, txs []evm.Hash) error {
	missing := slices.DeleteFunc(txs, func(tx evm.Hash) bool { return v.receipts[tx] != nil })
	for batch := range slices.Chunk(missing, callBatch) {
		known, err := s.evm.Quorum.Known(ctx, batch)
		if err != nil {
			return fmt.Errorf("look for transactions: %w", err)
		}
		for i, tx := range batch {
			v.known[tx] = known[i]
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
	var unclear []evm.Hash
	for _, one := range s.steps {
		isSent := one.kind == moving && s.record.Rows[one.rows[0]-1].Tx == one.hash.String()
		if v.nonces[one.from] > one.Nonce || isSent && s.isOver(v) {
			unclear = append(unclear, one.hash)
		}
	}
	if err := s.readKnown(ctx, v, unclear); err != nil {
		return err
	}
	data, err := s.dataFee(ctx, v)
	if err != nil {
		return err
	}
	for _, one := range s.steps {
		if one.isPayers() {
			continue
		}
		n := one.rows[0]
		c, gas := &v.rows[n-1], s.step(funding, n)
		c.state = recorded.Planned
		c.used = v.nonces[one.from] > one.Nonce
		needed := new(big.Int).Add(one.Value, one.MaxFee())
		isFundable := gas != nil && v.isOpen(*gas) && v.balances[one.from].Cmp(new(big.Int).Add(needed, data)) < 0
		switch {
		case v.receipts[one.hash] != nil, v.known[one.hash]:
		case c.used:
			c.state, c.why = recorded.NothingThere, reasonNonce
		case isFundable && s.record.Rows[n-1].State != recorded.Sent && s.isLateToFund(v):
			c.state, c.why = recorded.Expired, reasonLate
		case isFundable:
			c.awaitsFunding = true
		case v.balances[one.from].Cmp(needed) >= 0:
		case s.record.Plan.Rows[n-1].Way == plan.ByFunding:
			c.state, c.why = recorded.Refused, reasonFunding
		default:
			c.state = recorded.NothingThere
		}
	}
	return nil
}

// isOpen reports whether a transaction is in no block, and its nonce is not used.
func (v *survey) isOpen(one step) bool {
	return v.receipts[one.hash] == nil && v.nonces[one.from] <= one.Nonce
}

// isLateToFund reports whether the payer sends no more coin to addresses, because the transactions of these could be too late.
func (s *Sender) isLateToFund(v *survey) bool { return s.isAfter(v, plan.FundingMargin) }

// isAfter reports whether at most a margin is left until the end of the plan, by the clock or by the newest block.
func (s *Sender) isAfter(v *survey, margin time.Duration) bool {
	latest := s.record.Plan.ValidUntil.Add(-margin)
	return !s.now().Before(latest) || !v.tip.Time.Before(latest)
}

// dataFee returns the fee for the data of the largest open transaction of an address; zero if the network has none or does not state it. The
// address needs it beside the fee for gas, and waits for coin that the payer can still send. When it cannot, the endpoints decide.
func (s *Sender) dataFee(ctx context.Context, v *survey) (*big.Int, error) {
	var largest []byte
	for _, one := range s.steps {
		if raw, err := hex.DecodeString(strings.TrimPrefix(one.raw, "0x")); err == nil && one.kind == moving && v.isOpen(one) && len(raw) > len(largest) {
			largest = raw
		}
	}
	if len(largest) == 0 || !HasDataFee(s.record.Plan.Network) {
		return new(big.Int), nil
	}
	results, err := s.results(ctx, v, []evm.Call{dataFeeCall(largest)})
	if err != nil {
		return nil, fmt.Errorf("read the fee for data on Ethereum: %w", err)
	}
	if len(results[0]) != len(evm.Word{}) {
		return new(big.Int), nil
	}
	return new(big.Int).SetBytes(results[0]), nil
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
		if one := s.step(moving, n); c.state != recorded.Planned || !v.isOpen(*one) {
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
