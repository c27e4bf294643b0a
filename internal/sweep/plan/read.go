package plan

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"

	"chequer/internal/evm"
)

// Forms of the texts of a plan.
var (
	idForm      = regexp.MustCompile(`^swp_[0-9A-Za-z_-]{1,64}$`)
	assetForm   = regexp.MustCompile(`^[A-Z0-9][A-Z0-9-]{0,31}$`)
	symbolForm  = regexp.MustCompile(`^[0-9A-Za-z.₮+-]{1,16}$`)
	domainForm  = regexp.MustCompile(`^[ -~₮]{1,64}$`) // the name of USDT on some networks ends in ₮
	percentForm = regexp.MustCompile(`^(0|[1-9][0-9]?)(\.[0-9]{1,2})?$`)
)

// Read reads the file of a plan. The error names the field that is wrong. Read does not check whether the plan is
// over.
func Read(content []byte) (Plan, error) {
	var f planFile
	if err := unmarshalStrict(content, planFormat, planVersion, &f); err != nil {
		return Plan{}, err
	}
	p := Plan{content: append([]byte(nil), content...), hash: sha256.Sum256(content), Block: f.Block, SkipAbove: f.SkipAbove}
	for _, step := range []func(planFile) error{p.readHead, p.readRows, p.readPayer, p.readSkipped, p.readSums, p.readFee, p.checkText} {
		if err := step(f); err != nil {
			return Plan{}, err
		}
	}
	return p, nil
}

// readHead reads the fields before the rows.
func (p *Plan) readHead(f planFile) (err error) {
	if !idForm.MatchString(f.ID) {
		return fmt.Errorf("id: %q is not the ID of a plan", printable(f.ID))
	}
	p.ID = f.ID
	if p.MadeAt, err = parseTime(f.MadeAt); err != nil {
		return within("made_at", err)
	}
	if p.ValidUntil, err = parseTime(f.ValidUntil); err != nil {
		return within("valid_until", err)
	}
	if !p.ValidUntil.After(p.MadeAt) {
		return errors.New("valid_until: it is not after made_at")
	}
	if p.ValidUntil.Sub(p.MadeAt) > MaxValidity {
		return errors.New("valid_until: it is more than 30 days after made_at")
	}
	network, known := NetworkByID(f.Network)
	if !known {
		return fmt.Errorf("network: %q is unknown", printable(f.Network))
	}
	p.Network = network
	if f.ChainID != p.Network.ChainID {
		return fmt.Errorf("chain_id: %d is not the chain ID of %s, which is %d", f.ChainID, p.Network.Name, p.Network.ChainID)
	}
	if f.Block == 0 {
		return errors.New("block: it is missing")
	}
	if p.To, err = parseAddress(f.To); err != nil {
		return within("to", err)
	}
	if err := CheckDestination(p.To); err != nil {
		return within("to", err)
	}
	if f.Account != "" {
		p.Account, err = ParsePath(f.Account)
	}
	return within("account", err)
}

// readRows reads the rows.
func (p *Plan) readRows(f planFile) error {
	switch {
	case len(f.Rows) == 0:
		return errors.New("rows: there are none")
	case len(f.Rows) > MaxRows:
		return fmt.Errorf("rows: there are %d, more than %d", len(f.Rows), MaxRows)
	}
	for i, row := range f.Rows {
		r, err := p.readRow(row)
		if row.N != i+1 {
			err = fmt.Errorf("n: %d is not the number of the row", row.N)
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", i+1, err)
		}
		p.Rows = append(p.Rows, r)
	}
	return p.checkRows()
}

// readRow reads one row.
func (p *Plan) readRow(f rowFile) (r Row, err error) {
	if r.Steps, err = p.parseSteps(f.Path); err != nil {
		return r, within("path", err)
	}
	if p.PathText(r) != f.Path {
		return r, fmt.Errorf("path: it must be written %s", p.PathText(r))
	}
	if r.From, err = parseAddress(f.From); err != nil {
		return r, within("from", err)
	}
	if r.From == p.To {
		return r, errors.New("from: it is the destination of the plan")
	}
	if !assetForm.MatchString(f.Asset) {
		return r, fmt.Errorf("asset: %q is not a code", printable(f.Asset))
	}
	r.Way, r.Asset = f.Way, f.Asset
	if r.Amount, err = parsePositive(f.Amount); err != nil {
		return r, within("amount", err)
	}
	switch f.Way {
	case ByAuthorization:
		return r, p.readToken(f, &r)
	case ByOwn:
		return r, readOwn(f, &r)
	case ByFunding:
		return r, p.readFunded(f, &r)
	}
	return r, fmt.Errorf("way: %q is neither %s, %s nor %s", printable(string(f.Way)), ByAuthorization, ByOwn, ByFunding)
}

// readToken reads the fields of a row that is moved by an authorization.
func (p *Plan) readToken(f rowFile, r *Row) (err error) {
	if f.Nonce != nil || f.Gas != 0 || f.Tip != "" || f.FeeCap != "" || f.Funding != "" {
		return errors.New("nonce, gas, tip, fee_cap and funding are only for rows whose address sends a transaction")
	}
	if err := p.readContract(f, r); err != nil {
		return err
	}
	if !domainForm.MatchString(f.Name) {
		return fmt.Errorf("name: %q is not the name of a token", printable(f.Name))
	}
	if !domainForm.MatchString(f.Version) {
		return fmt.Errorf("version: %q is not the version of a token", printable(f.Version))
	}
	r.Name, r.Version = f.Name, f.Version
	return nil
}

// readContract reads the contract of the token of a row.
func (p *Plan) readContract(f rowFile, r *Row) (err error) {
	if r.Contract, err = parseAddress(f.Contract); err != nil {
		return within("contract", err)
	}
	if err := CheckDestination(r.Contract); err != nil {
		return within("contract", err)
	}
	if r.Contract == p.To {
		return errors.New("contract: it is the destination of the plan")
	}
	return nil
}

// readOwn reads the fields of a row that sends the coin of its address.
func readOwn(f rowFile, r *Row) (err error) {
	if f.Contract != "" || f.Name != "" || f.Version != "" || f.Funding != "" {
		return errors.New("contract, name, version and funding are not for the way own, which sends a coin")
	}
	return readTransaction(f, r)
}

// readFunded reads the fields of a row that transfers a token by a transaction of its address.
func (p *Plan) readFunded(f rowFile, r *Row) (err error) {
	if f.Name != "" || f.Version != "" {
		return errors.New("name and version are only for the way authorization")
	}
	if err := p.readContract(f, r); err != nil {
		return err
	}
	if r.Funding, err = parseAmount(f.Funding); err != nil {
		return within("funding", err)
	}
	return readTransaction(f, r)
}

// readTransaction reads the nonce and the limits of the transaction of a row.
func readTransaction(f rowFile, r *Row) (err error) {
	if f.Nonce == nil {
		return errors.New("nonce: it is missing")
	}
	r.Cost, err = readCost(*f.Nonce, f.Tip, f.FeeCap)
	if err != nil {
		return err
	}
	r.Cost.Gas = f.Gas
	return checkGas(f.Gas)
}

// maxNonce is the largest nonce of a transaction; see EIP-2681.
const maxNonce = 1<<64 - 2

// readCost reads the nonce and the fees of a transaction.
func readCost(nonce uint64, tip, feeCap string) (c Cost, err error) {
	c.Nonce = nonce
	if nonce > maxNonce {
		return c, errors.New("nonce: it is too large")
	}
	if c.Tip, err = parseAmount(tip); err != nil {
		return c, within("tip", err)
	}
	if c.FeeCap, err = parsePositive(feeCap); err != nil {
		return c, within("fee_cap", err)
	}
	if c.Tip.Cmp(c.FeeCap) > 0 {
		return c, errors.New("tip: it is above fee_cap")
	}
	return c, nil
}

// checkGas checks the amount of gas of a transaction.
func checkGas(gas uint64) error {
	if gas < minGas || gas > maxGas {
		return fmt.Errorf("gas: %d is not from %d to %d", gas, minGas, maxGas)
	}
	return nil
}

// checkRows checks that the rows agree with each other: no row is repeated, an address has one path and sends one transaction, and an asset
// has one contract.
func (p *Plan) checkRows() error {
	type holding struct {
		from  evm.Address
		asset string
	}
	seen, paths, owners := map[holding]int{}, map[evm.Address][2]uint32{}, map[[2]uint32]evm.Address{}
	contracts, assets := map[string]evm.Address{}, map[evm.Address]string{}
	senders := map[evm.Address]int{}
	for i, r := range p.Rows {
		if first := senders[r.From]; r.SendsTransaction() && first > 0 {
			return fmt.Errorf("row %d: way: %s sends the transaction of row %d", i+1, r.From, first)
		}
		if r.SendsTransaction() {
			senders[r.From] = i + 1
		}
		if first, isRepeated := seen[holding{r.From, r.Asset}]; isRepeated {
			return fmt.Errorf("row %d: it repeats row %d: %s at %s", i+1, first, r.Asset, r.From)
		}
		seen[holding{r.From, r.Asset}] = i + 1
		if steps, known := paths[r.From]; known && steps != r.Steps {
			return fmt.Errorf("row %d: path: %s has another path in a row before", i+1, r.From)
		}
		if owner, known := owners[r.Steps]; known && owner != r.From {
			return fmt.Errorf("row %d: path: it belongs to %s in a row before", i+1, owner)
		}
		paths[r.From], owners[r.Steps] = r.Steps, r.From
		if contract, known := contracts[r.Asset]; known && contract != r.Contract {
			return fmt.Errorf("row %d: contract: %s has another contract in a row before", i+1, r.Asset)
		}
		if asset, known := assets[r.Contract]; known && asset != r.Asset {
			return fmt.Errorf("row %d: asset: the contract belongs to %s in a row before", i+1, asset)
		}
		contracts[r.Asset], assets[r.Contract] = r.Contract, r.Asset
	}
	for i, r := range p.Rows {
		if _, isRow := paths[r.Contract]; isRow {
			return fmt.Errorf("row %d: contract: it is an address of the plan", i+1)
		}
	}
	return nil
}

// readPayer reads the payer, if there is one.
func (p *Plan) readPayer(f planFile) (err error) {
	funded := p.Funded()
	switch {
	case f.Payer == nil && len(funded) > 0:
		return fmt.Errorf("payer: it is missing, and row %d is funded", funded[0])
	case f.Payer == nil:
		return nil
	}
	defer func() { err = within("payer", err) }()
	payer := &Payer{}
	if payer.Address, err = parseAddress(f.Payer.Address); err != nil {
		return within("address", err)
	}
	if payer.Cost, err = readCost(f.Payer.Nonce, f.Payer.Tip, f.Payer.FeeCap); err != nil {
		return err
	}
	left := len(p.authorized())
	for i, c := range f.Payer.Transactions {
		if c.Rows < 1 || c.Rows > maxCarried {
			return fmt.Errorf("transaction %d: rows: %d is not from 1 to %d", i+1, c.Rows, maxCarried)
		}
		if err := checkGas(c.Gas); err != nil {
			return fmt.Errorf("transaction %d: %w", i+1, err)
		}
		left -= c.Rows
		payer.Carriers = append(payer.Carriers, Carrier(c))
	}
	if left != 0 {
		return fmt.Errorf("the transactions do not carry the %d rows of the way %s", len(p.authorized()), ByAuthorization)
	}
	switch payer.FundGas = f.Payer.FundGas; {
	case len(funded) > 0:
		if err := checkGas(payer.FundGas); err != nil {
			return within("fund_gas", err)
		}
	case payer.FundGas != 0:
		return errors.New("fund_gas: no row is funded")
	case len(payer.Carriers) == 0:
		return errors.New("it has no transactions")
	}
	if payer.Cost.Nonce > maxNonce-uint64(len(funded)+len(payer.Carriers)-1) {
		return errors.New("nonce: it is too large")
	}
	for i, r := range p.Rows {
		if r.From == payer.Address && r.SendsTransaction() {
			return fmt.Errorf("address: row %d sends a transaction from it", i+1)
		}
	}
	p.Payer = payer
	return nil
}

// readSkipped reads what is skipped.
func (p *Plan) readSkipped(f planFile) error {
	if !percentForm.MatchString(f.SkipAbove) {
		return fmt.Errorf("skip_above: %q is not a number of per cent", printable(f.SkipAbove))
	}
	for i, skipped := range f.Skipped {
		s, err := readSkippedRow(skipped)
		if err != nil {
			return fmt.Errorf("skipped %d: %w", i+1, err)
		}
		p.Skipped = append(p.Skipped, s)
	}
	return nil
}

func readSkippedRow(f skippedFile) (s Skipped, err error) {
	if s.From, err = parseAddress(f.From); err != nil {
		return s, within("from", err)
	}
	if !assetForm.MatchString(f.Asset) {
		return s, fmt.Errorf("asset: %q is not a code", printable(f.Asset))
	}
	s.Asset, s.Why = f.Asset, f.Why
	if _, known := reasonTexts[f.Why]; !known {
		return s, fmt.Errorf("why: %q is unknown", printable(string(f.Why)))
	}
	s.Amount, err = parsePositive(f.Amount)
	return s, within("amount", err)
}

// readSums reads the sums, which must be those of the rows.
func (p *Plan) readSums(f planFile) error {
	totals := p.totals()
	for i, sum := range f.Sum {
		s, err := p.readSum(sum, totals)
		if err != nil {
			return fmt.Errorf("sum %d: %w", i+1, err)
		}
		p.Sums = append(p.Sums, s)
		delete(totals, s.Asset)
	}
	for _, r := range p.Rows {
		if totals[r.Asset] != nil {
			return fmt.Errorf("sum: %s is missing", r.Asset)
		}
	}
	return nil
}

// maxDecimals is the largest number of decimals of an asset.
const maxDecimals = 36

// readSum reads one sum. totals are the sums of the rows that no sum before has.
func (p *Plan) readSum(f sumFile, totals map[string]*big.Int) (s Sum, err error) {
	total := totals[f.Asset]
	if total == nil {
		return s, fmt.Errorf("asset: %q has no row or is given twice", printable(f.Asset))
	}
	if !symbolForm.MatchString(f.Symbol) {
		return s, fmt.Errorf("symbol: %q is not a symbol", printable(f.Symbol))
	}
	if f.Decimals < 0 || f.Decimals > maxDecimals {
		return s, fmt.Errorf("decimals: %d is not from 0 to %d", f.Decimals, maxDecimals)
	}
	isCoin := slices.ContainsFunc(p.Rows, func(r Row) bool { return r.Asset == f.Asset && r.Way == ByOwn })
	if isCoin && (f.Symbol != p.Network.Coin || f.Decimals != CoinDecimals) {
		return s, fmt.Errorf("the coin of %s is %s with %d decimals", p.Network.Name, p.Network.Coin, CoinDecimals)
	}
	if s.Amount, err = parsePositive(f.Amount); err != nil {
		return s, within("amount", err)
	}
	if s.Amount.Cmp(total) != 0 {
		return s, fmt.Errorf("amount: %s is not the sum of the rows of %s, which is %s", s.Amount, f.Asset, total)
	}
	s.Asset, s.Symbol, s.Decimals = f.Asset, f.Symbol, f.Decimals
	return s, nil
}

// readFee reads the highest fee, which must not be below that of the transactions of the plan.
func (p *Plan) readFee(f planFile) (err error) {
	if p.FeeMax.Amount, err = parseAmount(f.FeeMax.Amount); err != nil {
		return within("fee_max: amount", err)
	}
	if p.FeeMax.Cents, err = parseEuro(f.FeeMax.EUR); err != nil {
		return within("fee_max: eur", err)
	}
	if limit := p.FeeCap(); p.FeeMax.Amount.Cmp(limit) < 0 {
		return fmt.Errorf("fee_max: amount: %s is less than the %s that the transactions may cost", p.FeeMax.Amount, limit)
	}
	return nil
}

// checkText checks that the summary is that of the plan.
func (p *Plan) checkText(f planFile) error {
	if f.Text != p.Text() {
		return errors.New("text: it is not the summary of the plan")
	}
	return nil
}
