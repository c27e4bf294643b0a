package storage

import (
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// assetRow is the JSON form of an asset, frozen with an invoice, so that reading the invoice does
// not depend on the assets that the networks offer now.
type assetRow struct {
	Code        string    `json:"code"`
	Symbol      string    `json:"sym,omitempty"`
	Name        string    `json:"name,omitempty"`
	Network     string    `json:"net"`
	NetworkName string    `json:"netname,omitempty"`
	Currency    string    `json:"cur"`
	Decimals    int32     `json:"dec,omitempty"`
	Wallet      string    `json:"wal,omitempty"`
	Rate        string    `json:"rate,omitempty"`
	Dust        string    `json:"dust,omitempty"`
	Scheme      string    `json:"uri,omitempty"`
	ChainID     uint64    `json:"cid,omitempty"`
	Contract    string    `json:"con,omitempty"`
	Volatile    bool      `json:"vol,omitempty"`
	Policy      policyRow `json:"pol"`
}

// policyRow is the JSON form of a policy. Each depth is a pair: amounts below that many cents need
// that many confirmations.
type policyRow struct {
	Depth      [][2]int64 `json:"depth,omitempty"`
	Coinbase   int        `json:"cb,omitempty"`
	Mempool    bool       `json:"mem,omitempty"`
	BlockGrace int64      `json:"grace,omitempty"` // milliseconds
	Balance    bool       `json:"bal,omitempty"`
	Gas        string     `json:"gas,omitempty"`
	ZeroCents  int64      `json:"zero,omitempty"`
}

func assetToRow(a chain.Asset) assetRow {
	return assetRow{
		Code: a.Code, Symbol: a.Symbol, Name: a.Name,
		Network: string(a.Network), NetworkName: a.NetworkName,
		Currency: a.Currency.Code, Decimals: a.Currency.Decimals,
		Wallet: a.Wallet, Rate: a.Rate, Dust: optional(a.Dust), Scheme: a.Scheme,
		ChainID: a.ChainID, Contract: a.Contract, Volatile: a.Volatile,
		Policy: policyToRow(a.Policy),
	}
}

func (r assetRow) asset() (chain.Asset, error) {
	currency := money.Currency{Code: r.Currency, Decimals: r.Decimals}
	dust, err := parseOptional(r.Dust, currency)
	if err != nil {
		return chain.Asset{}, err
	}
	policy, err := r.Policy.policy(currency)
	if err != nil {
		return chain.Asset{}, err
	}
	return chain.Asset{
		Code: r.Code, Symbol: r.Symbol, Name: r.Name,
		Network: chain.ID(r.Network), NetworkName: r.NetworkName,
		Currency: currency, Wallet: r.Wallet, Rate: r.Rate, Dust: dust, Scheme: r.Scheme,
		ChainID: r.ChainID, Contract: r.Contract, Volatile: r.Volatile,
		Policy: policy,
	}, nil
}

func policyToRow(p chain.Policy) policyRow {
	r := policyRow{Coinbase: p.Coinbase, Mempool: p.Mempool, BlockGrace: p.BlockGrace.Milliseconds(), Balance: p.Balance, Gas: optional(p.Gas), ZeroCents: p.ZeroConfirmationCents}
	for _, d := range p.Depth {
		r.Depth = append(r.Depth, [2]int64{d.BelowCents, int64(d.Confirmations)})
	}
	return r
}

func (r policyRow) policy(currency money.Currency) (p chain.Policy, err error) {
	p = chain.Policy{
		Coinbase: r.Coinbase, Mempool: r.Mempool, Balance: r.Balance, ZeroConfirmationCents: r.ZeroCents,
		BlockGrace: time.Duration(r.BlockGrace) * time.Millisecond,
	}
	if r.Gas != "" {
		p.Gas, err = parseAmount(r.Gas, currency)
	}
	for _, d := range r.Depth {
		p.Depth = append(p.Depth, chain.Depth{BelowCents: d[0], Confirmations: int(d[1])})
	}
	return p, err
}
