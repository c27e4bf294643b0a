package plan

import (
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"chequer/internal/evm"
)

// planFormat and planVersion identify the file of a plan.
const (
	planFormat  = "chequer-sweep-plan"
	planVersion = 1
)

// planFile is the file of a plan. Amounts are texts of whole numbers of smallest units.
type planFile struct {
	Format     string        `json:"format"`
	Version    int           `json:"version"`
	ID         string        `json:"id"`
	MadeAt     string        `json:"made_at"`
	ValidUntil string        `json:"valid_until"`
	Network    string        `json:"network"`
	ChainID    uint64        `json:"chain_id"`
	Block      uint64        `json:"block"`
	To         string        `json:"to"`
	Account    string        `json:"account"`
	Payer      *payerFile    `json:"payer"`
	Rows       []rowFile     `json:"rows"`
	SkipAbove  string        `json:"skip_above"`
	Skipped    []skippedFile `json:"skipped"`
	Sum        []sumFile     `json:"sum"`
	FeeMax     feeFile       `json:"fee_max"`
	Text       string        `json:"text"`
}

type rowFile struct {
	N        int    `json:"n"` // from 1
	Path     string `json:"path"`
	From     string `json:"from"`
	Way      Way    `json:"way"`
	Asset    string `json:"asset"`
	Contract string `json:"contract,omitempty"`
	Name     string `json:"name,omitempty"`
	Version  string `json:"version,omitempty"`
	Amount   string `json:"amount"`
	// Nonce, Gas, Tip and FeeCap belong to the transaction of a row whose way is own or fund.
	Nonce   *uint64 `json:"nonce,omitempty"`
	Gas     uint64  `json:"gas,omitempty"`
	Tip     string  `json:"tip,omitempty"`
	FeeCap  string  `json:"fee_cap,omitempty"`
	Funding string  `json:"funding,omitempty"` // of the way fund
}

type payerFile struct {
	Address      string        `json:"address"`
	Nonce        uint64        `json:"nonce"`
	Tip          string        `json:"tip"`
	FeeCap       string        `json:"fee_cap"`
	FundGas      uint64        `json:"fund_gas,omitempty"`
	Transactions []carrierFile `json:"transactions"`
}

type carrierFile struct {
	Rows int    `json:"rows"`
	Gas  uint64 `json:"gas"`
}

type skippedFile struct {
	From   string `json:"from"`
	Asset  string `json:"asset"`
	Amount string `json:"amount"`
	Why    Reason `json:"why"`
}

type sumFile struct {
	Asset    string `json:"asset"`
	Symbol   string `json:"symbol"`
	Decimals int    `json:"decimals"`
	Amount   string `json:"amount"`
}

type feeFile struct {
	Amount string `json:"amount"`
	EUR    string `json:"eur"`
}

// Encode returns a plan with the bytes of its file. It adds up the rows, so the amounts of Sums may be nil. The error
// names what is wrong with the plan.
func Encode(p Plan) (Plan, error) {
	sums, err := p.addUp()
	if err != nil {
		return Plan{}, fmt.Errorf("encode the plan: %w", err)
	}
	p.Sums = sums
	content, err := json.Marshal(p.file())
	if err != nil {
		return Plan{}, fmt.Errorf("encode the plan: %w", err)
	}
	read, err := Read(append(content, '\n'))
	if err != nil {
		return Plan{}, fmt.Errorf("encode the plan: %w", err)
	}
	return read, nil
}

// addUp returns the sums with the amounts of the rows.
func (p Plan) addUp() ([]Sum, error) {
	sums := append([]Sum(nil), p.Sums...)
	totals := p.totals()
	for i, s := range sums {
		if totals[s.Asset] == nil {
			return nil, fmt.Errorf("sum %d: no row has the asset %q", i+1, s.Asset)
		}
		sums[i].Amount = totals[s.Asset]
	}
	return sums, nil
}

// totals returns the sum of the rows of each asset.
func (p Plan) totals() map[string]*big.Int {
	totals := map[string]*big.Int{}
	for _, r := range p.Rows {
		if totals[r.Asset] == nil {
			totals[r.Asset] = new(big.Int)
		}
		totals[r.Asset].Add(totals[r.Asset], r.Amount)
	}
	return totals
}

// file returns the file of a plan.
func (p Plan) file() planFile {
	f := planFile{
		Format: planFormat, Version: planVersion, ID: p.ID, MadeAt: stamp(p.MadeAt), ValidUntil: stamp(p.ValidUntil),
		Network: p.Network.ID, ChainID: p.Network.ChainID, Block: p.Block, To: p.To.String(), SkipAbove: p.SkipAbove,
		Skipped: []skippedFile{}, FeeMax: feeFile{text(p.FeeMax.Amount), cents(p.FeeMax.Cents)}, Text: p.Text(),
	}
	if len(p.Account) > 0 {
		f.Account = p.Account.String()
	}
	if p.Payer != nil {
		f.Payer = p.Payer.file()
	}
	for i, r := range p.Rows {
		f.Rows = append(f.Rows, p.rowFile(i+1, r))
	}
	for _, s := range p.Skipped {
		f.Skipped = append(f.Skipped, skippedFile{s.From.String(), s.Asset, text(s.Amount), s.Why})
	}
	for _, s := range p.Sums {
		f.Sum = append(f.Sum, sumFile{s.Asset, s.Symbol, s.Decimals, text(s.Amount)})
	}
	return f
}

func (p Plan) rowFile(n int, r Row) rowFile {
	f := rowFile{N: n, Path: p.PathText(r), From: r.From.String(), Way: r.Way, Asset: r.Asset, Name: r.Name, Version: r.Version, Amount: text(r.Amount)}
	if r.Contract != (evm.Address{}) {
		f.Contract = r.Contract.String()
	}
	if r.SendsTransaction() {
		f.Nonce, f.Gas, f.Tip, f.FeeCap = &r.Cost.Nonce, r.Cost.Gas, text(r.Cost.Tip), text(r.Cost.FeeCap)
	}
	if r.Way == ByFunding {
		f.Funding = text(r.Funding)
	}
	return f
}

func (p *Payer) file() *payerFile {
	f := payerFile{
		Address: p.Address.String(), Nonce: p.Cost.Nonce, Tip: text(p.Cost.Tip), FeeCap: text(p.Cost.FeeCap), FundGas: p.FundGas,
		Transactions: []carrierFile{},
	}
	for _, c := range p.Carriers {
		f.Transactions = append(f.Transactions, carrierFile(c))
	}
	return &f
}

// text returns a number in decimal; "" if it is missing.
func text(n *big.Int) string {
	if n == nil {
		return ""
	}
	return n.String()
}

// stamp returns a time of the files.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// cents returns cents as an amount of euro, such as 0.31.
func cents(n int64) string { return fmt.Sprintf("%d.%02d", n/100, n%100) }
