package sweep

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/btcsuite/btcd/btcec/v2"

	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
)

// Limits of carrying transactions.
const (
	carriedRows = 100        // rows of one
	carriedGas  = 12_000_000 // gas of one with its margin; EIP-7825 allows 16,777,216
	// carriedBytes bounds the data of one; nodes refuse transactions of more than 128 KiB.
	carriedBytes = 100_000
)

// sampleRows is the number of authorizations in the transaction whose gas is estimated. Endpoints round estimates up by a share of the
// whole, so the gas of a row is the difference between this transaction and one with a single authorization.
const sampleRows = 11

// transferGas is the gas of a transaction that only sends a coin. See EIP-1559 and the Ethereum yellow paper, appendix G.
const transferGas = 21_000

// gasFees are the fees per gas of the plan's transactions, and the gas of the parts of the carrying ones, without margin.
type gasFees struct {
	tip, cap *big.Int
	base     uint64            // of a carrying transaction without authorizations
	row      map[string]uint64 // of an authorization, by asset
	first    map[string]uint64 // additionally of the first authorization for the destination, by asset
	data     map[string]*big.Int
	fund     uint64   // gas of a transaction that funds a row; 0 if none is funded
	fundData *big.Int // fee for the data of such a transaction
}

// feeVariants is the number of fees from which readFees chooses, in the coin's smallest units per gas.
const feeVariants = 1 << 20

// readFees reads the fees per gas. A base fee may double until the transactions are sent. The highest fee is raised by a random number, which
// costs next to nothing, so that no two plans have the same transaction: it would count as a transfer of both.
func (d *drafting) readFees(ctx context.Context) error {
	tip, limit, err := feesPerGas(ctx, d.evm.Quorum, d.network)
	if err != nil {
		return err
	}
	variant, err := rand.Int(rand.Reader, big.NewInt(feeVariants))
	if err != nil {
		return err
	}
	limit = new(big.Int).Add(limit, variant)
	d.fees = gasFees{tip: tip, cap: limit, row: map[string]uint64{}, first: map[string]uint64{}, data: map[string]*big.Int{}, fundData: new(big.Int)}
	return nil
}

// feesPerGas returns the priority fee per gas, and the highest fee per gas including it.
func feesPerGas(ctx context.Context, q *quorum.Quorum, network plan.Network) (tip, limit *big.Int, err error) {
	fees, err := q.Fees(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read the fees of %s: %w", network.Name, err)
	}
	limit = new(big.Int).Lsh(fees.Base, 1)
	limit.Add(limit, fees.Tip)
	if limit.Sign() == 0 {
		limit.SetInt64(1) // a transaction without a fee cap has no type 2 form in a plan
	}
	return fees.Tip, limit, nil
}

// withMargin returns gas and a quarter more.
func withMargin(gas uint64) uint64 { return gas + (gas+3)/4 }

// feeOf returns the highest fee of gas, in the coin's smallest units.
func (f gasFees) feeOf(gas uint64) *big.Int {
	return new(big.Int).Mul(new(big.Int).SetUint64(gas), f.cap)
}

// priceTokens estimates the gas of the authorizations of each token, and sets the fees of their rows.
func (d *drafting) priceTokens(ctx context.Context) error {
	for _, indexes := range d.byAsset() {
		first := d.rows[indexes[0]]
		if first.way != plan.ByAuthorization {
			continue
		}
		if err := d.estimateToken(ctx, indexes); err != nil {
			return err
		}
		code, rows := first.asset.Code, uint64(min(len(indexes), carriedRows))
		share := (d.fees.base + rows - 1) / rows
		for _, i := range indexes {
			d.rows[i].fee = d.fees.feeOf(withMargin(d.fees.row[code] + share))
			d.rows[i].fee.Add(d.rows[i].fee, d.fees.data[code])
		}
	}
	return nil
}

// estimateToken estimates the gas of the authorizations of one token. Those of the rows have no signatures yet, so it estimates
// authorizations of nothing from a new account, and adds the difference between a transfer of an amount and a transfer of nothing.
func (d *drafting) estimateToken(ctx context.Context, indexes []int) error {
	r, other := d.rows[indexes[0]], d.To
	if len(indexes) > 1 {
		other = d.rows[indexes[1]].address
	}
	sample, err := d.sample(r.domain)
	if err != nil {
		return err
	}
	carrying := func(calls []evm.Call) quorum.Message {
		return quorum.Message{From: sample.account, To: evm.Multicall3, Data: evm.Aggregate3Strict(calls)}
	}
	sending := func(to evm.Address, units *big.Int) quorum.Message {
		return quorum.Message{From: r.address, To: r.domain.Contract, Data: evm.EncodeCall(transfer, evm.AddressWord(to), evm.UintWord(units))}
	}
	estimates, err := d.evm.Quorum.Estimates(ctx, []quorum.Message{
		carrying(sample.calls[:1]), carrying(sample.calls), sending(other, r.units), sending(other, new(big.Int)), sending(d.To, r.units),
	})
	if err != nil {
		return fmt.Errorf("estimate the gas of %s: %w", r.asset.Code, err)
	}
	for i, e := range estimates {
		if e.Failed && i < 2 {
			return fmt.Errorf("an authorization of %s would fail on %s", r.asset.Code, d.network.Name)
		}
		if e.Failed {
			return fmt.Errorf("the contract of %s refuses a transfer from %s", r.asset.Code, r.address)
		}
	}
	code := r.asset.Code
	marginal := (above(estimates[1].Gas, estimates[0].Gas) + sampleRows - 2) / (sampleRows - 1)
	d.fees.base = max(d.fees.base, above(estimates[0].Gas, marginal))
	d.fees.row[code] = marginal + above(estimates[2].Gas, estimates[3].Gas)
	d.fees.first[code] = above(estimates[4].Gas, estimates[2].Gas)
	data, err := dataFees(ctx, d.evm.Quorum, d.tip, d.network, [][]byte{d.carrierBytes(sample.calls)})
	if err != nil {
		return err
	}
	d.fees.data[code] = new(big.Int).Div(data[0], big.NewInt(sampleRows))
	return nil
}

// above returns the part of a number that is above another one.
func above(n, floor uint64) uint64 { return n - min(n, floor) }

// authorizationSample is a list of authorizations of nothing, from a new account that holds nothing.
type authorizationSample struct {
	account evm.Address
	calls   []evm.Call
}

// sample returns authorizations of a token. Their key is not kept.
func (d *drafting) sample(domain evm.Domain) (s authorizationSample, err error) {
	key, err := btcec.NewPrivateKey()
	if err != nil {
		return s, err
	}
	defer key.Zero()
	s.account = evm.AddressOf(key.PubKey())
	for i := range sampleRows {
		a := evm.Authorization{
			From: s.account, To: d.To, Value: new(big.Int), ValidBefore: uint64(d.madeAt.Add(d.Validity).Unix()),
			Nonce: evm.Keccak256(s.account[:], []byte{byte(i)}),
		}
		signature, err := evm.Sign(key, a.Digest(domain))
		if err != nil {
			return s, err
		}
		s.calls = append(s.calls, evm.Call{To: domain.Contract, Data: a.CallData(signature)})
	}
	return s, nil
}

// signedBytes returns a transaction with a signature of random length and content, for the fee of its data.
func signedBytes(t evm.Transaction) []byte {
	return t.Raw(evm.Signature{R: evm.Word(evm.Keccak256([]byte{1})), S: evm.Word(evm.Keccak256([]byte{2})), V: 28})
}

// carrierBytes returns a transaction that carries calls.
func (d *drafting) carrierBytes(calls []evm.Call) []byte {
	return carrierBytes(d.network, d.fees.tip, d.fees.cap, evm.Aggregate3(calls))
}

// carrierBytes returns a transaction to Multicall3, for the fee of its data.
func carrierBytes(network plan.Network, tip, limit *big.Int, data []byte) []byte {
	return signedBytes(evm.Transaction{
		ChainID: network.ChainID, Nonce: 1 << 20, Tip: tip, FeeCap: limit, Gas: carriedGas, To: evm.Multicall3, Value: new(big.Int), Data: data,
	})
}

// gasPriceOracle is the contract that calculates the fee for data on rollups of the OP Stack. See specs.optimism.io, "GasPriceOracle".
var gasPriceOracle = evm.Address{0: 0x42, 19: 0x0f}

// HasDataFee reports whether transactions on a network cost a fee beside their gas, for their data on Ethereum.
func HasDataFee(n plan.Network) bool {
	return slices.Contains([]string{"base", "optimism", "base-sepolia"}, n.ID)
}

// dataFeeCall returns the call that states the fee for the data of a transaction.
func dataFeeCall(transaction []byte) evm.Call {
	return evm.Call{To: gasPriceOracle, Data: evm.EncodeBytesCall("getL1Fee(bytes)", transaction)}
}

// dataFees returns for each transaction twice the fee for its data after the newest block, tip; zero on networks without one.
func dataFees(ctx context.Context, q *quorum.Quorum, tip ethereum.Header, network plan.Network, transactions [][]byte) ([]*big.Int, error) {
	fees := make([]*big.Int, len(transactions))
	if !HasDataFee(network) {
		for i := range fees {
			fees[i] = new(big.Int)
		}
		return fees, nil
	}
	var calls []evm.Call
	for _, t := range transactions {
		calls = append(calls, dataFeeCall(t))
	}
	results, err := q.Results(ctx, tip, calls)
	if err != nil {
		return nil, fmt.Errorf("read the fee for data on Ethereum: %w", err)
	}
	for i, result := range results {
		if len(result) != len(evm.Word{}) {
			return nil, errors.New("read the fee for data on Ethereum: the GasPriceOracle does not answer")
		}
		fees[i] = new(big.Int).SetBytes(result)
		fees[i].Lsh(fees[i], 1)
	}
	return fees, nil
}

// priceCoins sets the cost of rows that send the coin, and reduces their amounts by their fee.
func (d *drafting) priceCoins(ctx context.Context) error {
	for _, indexes := range d.byAsset() {
		if d.rows[indexes[0]].way != plan.ByOwn {
			continue
		}
		first := d.rows[indexes[0]]
		gas, err := d.estimateCoin(ctx, first.address, d.To)
		if err != nil {
			return err
		}
		if err := d.priceTransactions(ctx, indexes, evm.Transaction{Gas: gas, To: d.To, Value: first.units}); err != nil {
			return err
		}
	}
	return nil
}

// priceTransactions sets the costs and the fees of rows whose addresses send transactions like t, of which only the gas, the receiver, the value
// and the data are set.
func (d *drafting) priceTransactions(ctx context.Context, indexes []int, t evm.Transaction) error {
	nonces, err := d.evm.Quorum.Nonces(ctx, d.tip, d.accounts(indexes))
	if err != nil {
		return fmt.Errorf("read the nonces: %w", err)
	}
	data, err := d.dataFee(ctx, slices.Max(nonces), t)
	if err != nil {
		return err
	}
	for n, i := range indexes {
		r := &d.rows[i]
		r.cost = plan.Cost{Nonce: nonces[n], Gas: t.Gas, Tip: d.fees.tip, FeeCap: d.fees.cap}
		r.fee = new(big.Int).Add(d.fees.feeOf(t.Gas), data)
	}
	return nil
}

// dataFee returns twice the fee for the data of a transaction like t with a nonce.
func (d *drafting) dataFee(ctx context.Context, nonce uint64, t evm.Transaction) (*big.Int, error) {
	t.ChainID, t.Nonce, t.Tip, t.FeeCap = d.network.ChainID, nonce, d.fees.tip, d.fees.cap
	fees, err := dataFees(ctx, d.evm.Quorum, d.tip, d.network, [][]byte{signedBytes(t)})
	if err != nil {
		return nil, err
	}
	return fees[0], nil
}

// accounts returns the addresses of the rows with some indexes.
func (d *drafting) accounts(indexes []int) (list []evm.Address) {
	for _, i := range indexes {
		list = append(list, d.rows[i].address)
	}
	return list
}

// priceFunded estimates the gas of the transfers of each funded token, and sets the costs of their rows and what the payer sends to their
// addresses.
func (d *drafting) priceFunded(ctx context.Context) error {
	for _, indexes := range d.byAsset() {
		if d.rows[indexes[0]].way != plan.ByFunding {
			continue
		}
		if err := d.priceTransfers(ctx, indexes); err != nil {
			return err
		}
	}
	return d.priceFundings(ctx)
}

// priceTransfers does the work of priceFunded for the rows of one token.
func (d *drafting) priceTransfers(ctx context.Context, indexes []int) error {
	first := d.rows[indexes[0]]
	data := evm.EncodeCall(transfer, evm.AddressWord(d.To), evm.UintWord(first.units))
	estimates, err := d.evm.Quorum.Estimates(ctx, []quorum.Message{{From: first.address, To: first.domain.Contract, Data: data}})
	if err != nil {
		return fmt.Errorf("estimate the gas of %s: %w", first.asset.Code, err)
	}
	if estimates[0].Failed {
		return fmt.Errorf("the contract of %s refuses a transfer from %s", first.asset.Code, first.address)
	}
	t := evm.Transaction{Gas: withMargin(estimates[0].Gas), To: first.domain.Contract, Value: new(big.Int), Data: data}
	if err := d.priceTransactions(ctx, indexes, t); err != nil {
		return err
	}
	coins, err := d.evm.Quorum.Balances(ctx, d.tip, d.accounts(indexes))
	if err != nil {
		return fmt.Errorf("read the balances: %w", err)
	}
	for n, i := range indexes {
		r := &d.rows[i]
		r.funding = new(big.Int).Sub(r.fee, coins[n])
		if r.funding.Sign() < 0 {
			r.funding = new(big.Int)
		}
		r.isNew = r.cost.Nonce == 0 && coins[n].Sign() == 0
	}
	return nil
}

// priceFundings estimates the gas of the transactions that fund rows, and adds their fees to those of the rows. Coin for a new account may take
// more gas than for one that exists; see EIP-8037.
func (d *drafting) priceFundings(ctx context.Context) error {
	isFunded := func(r row) bool { return r.way == plan.ByFunding && r.funding.Sign() > 0 }
	first := slices.IndexFunc(d.rows, isFunded)
	if first < 0 {
		return nil
	}
	for _, isNew := range []bool{true, false} {
		i := slices.IndexFunc(d.rows, func(r row) bool { return isFunded(r) && r.isNew == isNew })
		if i < 0 {
			continue
		}
		gas, err := d.estimateCoin(ctx, *d.Payer, d.rows[i].address)
		if err != nil {
			return err
		}
		d.fees.fund = max(d.fees.fund, gas)
	}
	data, err := d.dataFee(ctx, 1<<20, evm.Transaction{Gas: d.fees.fund, To: d.rows[first].address, Value: d.rows[first].funding})
	if err != nil {
		return err
	}
	d.fees.fundData = data
	for i := range d.rows {
		if r := &d.rows[i]; isFunded(*r) {
			r.fee.Add(r.fee, d.fees.feeOf(d.fees.fund))
			r.fee.Add(r.fee, data)
		}
	}
	return nil
}

// estimateCoin returns the gas of a transaction that sends the coin: transferGas if that suffices, otherwise the estimate with a margin, such as
// on Arbitrum, where gas includes the fee for data, and for a contract.
func (d *drafting) estimateCoin(ctx context.Context, from, to evm.Address) (uint64, error) {
	estimates, err := d.evm.Quorum.Estimates(ctx, []quorum.Message{{From: from, To: to, Value: big.NewInt(1)}})
	if err != nil {
		return 0, fmt.Errorf("estimate the gas of %s: %w", d.network.Coin, err)
	}
	if estimates[0].Failed {
		return 0, fmt.Errorf("%s does not accept %s from %s", to, d.network.Coin, from)
	}
	if estimates[0].Gas <= transferGas {
		return transferGas, nil
	}
	return withMargin(estimates[0].Gas), nil
}
