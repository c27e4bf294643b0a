package sweep

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"chequer/internal/evm"
	"chequer/internal/money"
	"chequer/internal/networks"
	"chequer/internal/sweep/plan"
)

// skipExpensive skips the rows whose share of the fee is above the limit. An amount of the coin is reduced by its fee.
func (d *drafting) skipExpensive(context.Context) error {
	limit, ok := new(big.Rat).SetString(d.SkipAbove)
	if !ok {
		return fmt.Errorf("--skip-above %q is not a number of per cent", d.SkipAbove)
	}
	coin, err := coinRate(d.evm, d.rates)
	if err != nil {
		return err
	}
	d.skip(func(r row) plan.Reason {
		fee := new(big.Rat).Mul(coin.Value(money.FromMinor(r.fee, coin.Coin())), big.NewRat(100, 1))
		if fee.Cmp(new(big.Rat).Mul(r.value(r.units), limit)) > 0 || r.way == plan.ByOwn && r.fee.Cmp(r.units) >= 0 {
			return plan.Expensive
		}
		return ""
	})
	for i := range d.rows {
		if r := &d.rows[i]; r.way == plan.ByOwn {
			r.units = new(big.Int).Sub(r.units, r.fee)
		}
	}
	d.keepLargest()
	return d.noRows()
}

// coinRate returns the price of a network's coin in euro.
func coinRate(e networks.EVM, r Rates) (money.Rate, error) {
	for _, a := range e.Params().Assets {
		if a.Contract != "" {
			continue
		}
		rate, err := r.Rate(a.Rate, a.Currency, money.EUR)
		if err != nil {
			return money.Rate{}, fmt.Errorf("the value of the fee in euro is unknown: %w", err)
		}
		return rate, nil
	}
	return money.Rate{}, fmt.Errorf("%s has no coin", e.ID())
}

// keepLargest leaves the rows of the smallest value for a later plan, if there are more than a plan may have, and lists fewer amounts as
// skipped.
func (d *drafting) keepLargest() {
	if len(d.skipped) > maxSkipped {
		d.skipped = d.skipped[:maxSkipped]
	}
	if len(d.rows) <= plan.MaxRows {
		return
	}
	d.left = len(d.rows) - plan.MaxRows
	slices.SortStableFunc(d.rows, func(a, b row) int { return b.value(b.units).Cmp(a.value(a.units)) })
	d.rows = d.rows[:plan.MaxRows]
	slices.SortStableFunc(d.rows, func(a, b row) int { return int(a.index) - int(b.index) })
}

// assemble returns the plan of the rows.
func (d *drafting) assemble(ctx context.Context) (plan.Plan, error) {
	p := plan.Plan{
		ID: newID(), MadeAt: d.madeAt, ValidUntil: d.madeAt.Add(d.Validity), Network: d.network, Block: uint64(d.final.Height), To: d.To,
		SkipAbove: d.SkipAbove, Skipped: d.skipped,
	}
	d.total = new(big.Rat)
	for _, r := range d.rows {
		made, account, err := r.planned()
		if err != nil {
			return p, err
		}
		p.Account, p.Rows = account, append(p.Rows, made)
		d.total.Add(d.total, r.value(r.units))
		if !slices.ContainsFunc(p.Sums, func(s plan.Sum) bool { return s.Asset == r.asset.Code }) {
			p.Sums = append(p.Sums, plan.Sum{Asset: r.asset.Code, Symbol: r.asset.Symbol, Decimals: int(r.asset.Currency.Decimals)})
		}
	}
	carriers := d.carriers()
	if err := d.setPayer(ctx, &p, carriers); err != nil {
		return p, err
	}
	if err := d.setFee(ctx, &p, carriers); err != nil {
		return p, err
	}
	return plan.Encode(p)
}

// planned returns the row as it is in the plan, and the account of its path; empty if the public key does not show it.
func (r row) planned() (plan.Row, plan.Path, error) {
	text := r.path
	below, isUnknown := strings.CutPrefix(text, "…")
	if isUnknown {
		text = "m" + below
	}
	path, err := plan.ParsePath(text)
	if err != nil || len(path) < 2 {
		return plan.Row{}, nil, fmt.Errorf("path %q of %s: %w", r.path, r.address, err)
	}
	account, steps := path[:len(path)-2], [2]uint32(path[len(path)-2:])
	made := plan.Row{Steps: steps, From: r.address, Way: r.way, Asset: r.asset.Code, Amount: r.units}
	made.Cost, made.Funding = r.cost, r.funding
	made.Contract, made.Name, made.Version = r.domain.Contract, r.domain.Name, r.domain.Version
	return made, account, nil
}

// carriers returns the transactions that carry the authorizations, within the limits of rows, of gas and of bytes.
func (d *drafting) carriers() (list []plan.Carrier) {
	const rowBytes = 500 // of an authorization in the data of a carrying transaction
	var c plan.Carrier
	var gas uint64
	var firsts map[string]bool
	for _, r := range d.rows {
		if r.way != plan.ByAuthorization {
			continue
		}
		code := r.asset.Code
		added := d.fees.row[code]
		if !firsts[code] {
			added += d.fees.first[code]
		}
		if c.Rows > 0 && (c.Rows == carriedRows || withMargin(gas+added) > carriedGas || (c.Rows+1)*rowBytes > carriedBytes) {
			list = append(list, c)
			c = plan.Carrier{}
		}
		if c.Rows == 0 {
			gas, firsts = d.fees.base, map[string]bool{}
			added = d.fees.row[code] + d.fees.first[code]
		}
		firsts[code] = true
		gas += added
		c.Rows, c.Gas = c.Rows+1, withMargin(gas)
	}
	if c.Rows > 0 {
		list = append(list, c)
	}
	return list
}

// setPayer sets the payer of the plan, if the request names one.
func (d *drafting) setPayer(ctx context.Context, p *plan.Plan, carriers []plan.Carrier) error {
	if d.Payer == nil || len(carriers) == 0 && len(p.Funded()) == 0 {
		return nil
	}
	nonces, err := d.evm.Quorum.Nonces(ctx, d.tip, []evm.Address{*d.Payer})
	if err != nil {
		return fmt.Errorf("read the nonce of the payer: %w", err)
	}
	p.Payer = &plan.Payer{Address: *d.Payer, Cost: plan.Cost{Nonce: nonces[0], Tip: d.fees.tip, FeeCap: d.fees.cap}, Carriers: carriers}
	if len(p.Funded()) > 0 {
		p.Payer.FundGas = d.fees.fund
	}
	return nil
}

// errPayer returns the error for a payer that holds too little.
func errPayer(payer evm.Address, held, needed string) error {
	return fmt.Errorf("the payer %s holds %s, and its transactions may take %s", payer, held, needed)
}

// setFee sets the highest fee of the plan: of its transactions, and of those of a browser wallet.
func (d *drafting) setFee(ctx context.Context, p *plan.Plan, carriers []plan.Carrier) error {
	carried := new(big.Int) // without the transactions of the addresses
	for _, c := range carriers {
		carried.Add(carried, d.fees.feeOf(c.Gas))
	}
	for _, r := range d.rows {
		if r.way == plan.ByAuthorization {
			carried.Add(carried, d.fees.data[r.asset.Code])
		}
	}
	total := new(big.Int).Set(carried)
	for _, r := range d.rows {
		if r.sends() {
			total.Add(total, r.fee) // of a funded row with that of the transaction that funds it
		}
	}
	needed := carried // by the payer
	if n := len(p.Funded()); n > 0 {
		one := new(big.Int).Add(d.fees.feeOf(d.fees.fund), d.fees.fundData)
		needed = new(big.Int).Add(carried, p.FundingSum())
		needed.Add(needed, one.Mul(one, big.NewInt(int64(n))))
	}
	coin, err := coinRate(d.evm, d.rates)
	if err != nil {
		return err
	}
	value := coin.Value(money.FromMinor(total, coin.Coin()))
	p.FeeMax = plan.Fee{Amount: total, Cents: wholeCents(value)}
	allowed := new(big.Rat).Mul(d.total, big.NewRat(maxFeePercent, 100))
	if value.Cmp(allowed) > 0 && !d.AcceptFee {
		return fmt.Errorf("the fee could be %s EUR, more than %d %% of the %s EUR that the plan moves; wait for lower fees, or say --anyway",
			money.RoundUp(value, money.EUR).Fixed(), maxFeePercent, money.RoundDown(d.total, money.EUR).Fixed())
	}
	if p.Payer == nil {
		return nil
	}
	balances, err := d.evm.Quorum.Balances(ctx, d.tip, []evm.Address{p.Payer.Address})
	if err != nil {
		return fmt.Errorf("read the balance of the payer: %w", err)
	}
	if balances[0].Cmp(needed) < 0 {
		return errPayer(p.Payer.Address, p.CoinText(balances[0]), p.CoinText(needed))
	}
	return nil
}
