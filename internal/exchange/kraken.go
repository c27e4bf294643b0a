package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"chequer/internal/format"
	"chequer/internal/money"
)

// KrakenURL is the base address of Kraken's API.
const KrakenURL = "https://api.kraken.com"

// Kraken is the exchange Kraken with its Spot REST API, as documented at
// https://docs.kraken.com/api-reference (the pages are cited at the calls).
type Kraken struct{ client client }

// NewKraken returns a new Kraken with the base address base, which is KrakenURL outside of tests.
func NewKraken(base string, d Dialer) *Kraken { return &Kraken{newClient(base, d)} }

// krakenPairs are the markets in euro, by the long names that Kraken's answers use.
var krakenPairs = map[string]string{
	"BTC": "XXBTZEUR", "ETH": "XETHZEUR", "LTC": "XLTCZEUR", "USDC": "USDCEUR", "USDT": "USDTEUR",
}

// Name implements Exchange.
func (k *Kraken) Name() string { return "kraken" }

// Coins implements Exchange.
func (k *Kraken) Coins() []string { return slices.Sorted(maps.Keys(krakenPairs)) }

const (
	// krakenOrderTTL is the time from making an order to its deadline for matching, which the caller
	// sets: "min now() + 2 seconds, max now() + 60 seconds". See
	// https://docs.kraken.com/api-reference/trading/add-order, deadline.
	krakenOrderTTL = 10 * time.Second
	// krakenMaxDrift bounds how far Kraken's clock can be behind the local clock when it accepts an order: it
	// refuses a deadline that is more than 60 seconds ahead.
	krakenMaxDrift = 60 * time.Second
)

// Window implements Exchange.
func (k *Kraken) Window(createdAt time.Time) (deadline, end time.Time) {
	deadline = createdAt.Add(krakenOrderTTL)
	return deadline, deadline.Add(krakenMaxDrift)
}

// Permissions of a key, by their names in GetApiKeyInfo. See
// https://docs.kraken.com/api-reference/account-data/get-api-key-info, "permissions".
var (
	krakenRequired = []string{"query-funds", "query-open-trades", "query-closed-trades", "modify-trades"}
	krakenHarmless = []string{"add-funds", "earn-funds", "close-trades", "query-ledger", "export-data", "create-ws-token"}
	// Adding an address for withdrawals is a step of a withdrawal.
	krakenWithdrawals = []string{"withdraw-funds", "add-withdraw-address", "update-withdraw-address"}
)

// Examine implements Exchange with the call that returns the permissions of a key.
func (k *Kraken) Examine(ctx context.Context, a Account) (Scope, error) {
	var info struct{ Permissions []string }
	if err := k.private(ctx, a, "GetApiKeyInfo", url.Values{}, &info); err != nil {
		return Scope{}, err
	}
	if len(info.Permissions) == 0 {
		return Scope{}, fmt.Errorf("%w about the permissions of the key", ErrNoAnswer)
	}
	var s Scope
	for _, required := range krakenRequired {
		if !slices.Contains(info.Permissions, required) {
			s.Missing = append(s.Missing, required)
		}
	}
	for _, p := range info.Permissions {
		switch {
		case slices.Contains(krakenWithdrawals, p):
			s.Withdraw = append(s.Withdraw, p)
		case !slices.Contains(krakenRequired, p) && !slices.Contains(krakenHarmless, p):
			s.Unknown = append(s.Unknown, format.OneLine(p, maxMessage))
		}
	}
	return s, nil
}

// krakenMarket is a pair of AssetPairs. See
// https://docs.kraken.com/api-reference/market-data/get-tradable-asset-pairs
type krakenMarket struct {
	Base         string
	Status       string // online, cancel_only, post_only, limit_only, reduce_only
	LotDecimals  *int32 `json:"lot_decimals"`
	PairDecimals *int32 `json:"pair_decimals"`
	OrderMin     json.Number
	CostMin      json.Number
	TickSize     json.Number `json:"tick_size"`
}

// pair returns the name and the rules of the market of a coin.
func (k *Kraken) pair(ctx context.Context, coin string) (name string, m krakenMarket, err error) {
	name, known := krakenPairs[coin]
	if !known {
		return "", m, fmt.Errorf("%w for %s", ErrNoMarket, coin)
	}
	var markets map[string]krakenMarket
	if err := k.public(ctx, "AssetPairs", url.Values{"pair": {name}}, &markets); err != nil {
		return name, m, err
	}
	m, found := markets[name]
	if !found || !hasDecimals(m.LotDecimals) || !hasDecimals(m.PairDecimals) {
		return name, m, fmt.Errorf("%w about %s", ErrNoAnswer, name)
	}
	return name, m, nil
}

// Market implements Exchange.
func (k *Kraken) Market(ctx context.Context, coin string) (Market, error) {
	name, pair, err := k.pair(ctx, coin)
	if err != nil {
		return Market{}, err
	}
	m := Market{Open: pair.Status == "online" || pair.Status == "limit_only", Lot: *pair.LotDecimals, MinValue: money.Zero(Euro)}
	tick := pair.TickSize
	if tick == "" {
		tick = json.Number(money.FromCents(1, money.Currency{Decimals: *pair.PairDecimals}).String())
	}
	if m.Tick, err = parseAmount("tick_size", tick, Euro); err != nil {
		return m, err
	}
	if m.MinAmount, err = parseAmount("ordermin", pair.OrderMin, Coin(coin)); err != nil {
		return m, err
	}
	if pair.CostMin != "" {
		if m.MinValue, err = parseAmount("costmin", pair.CostMin, Euro); err != nil {
			return m, err
		}
	}
	// https://docs.kraken.com/api-reference/market-data/get-ticker-information: b is the bid, with
	// the price first.
	var tickers map[string]struct{ B []json.Number }
	if err := k.public(ctx, "Ticker", url.Values{"pair": {name}}, &tickers); err != nil {
		return m, err
	}
	if len(tickers[name].B) == 0 {
		return m, fmt.Errorf("%w about the bid of %s", ErrNoAnswer, name)
	}
	m.Bid, err = parseAmount("bid", tickers[name].B[0], Euro)
	return m, err
}

// Balance implements Exchange. "Balance available for trading is calculated as: available balance =
// balance + credit - credit_used - hold_trade". Coins on hold and in earning programmes have
// separate entries, such as "XBT.F" beside "XXBT": the base asset's alternative name and a suffix.
// Of these only coins in Kraken Rewards (".F") are traded under the base asset. See
// https://docs.kraken.com/api-reference/account-data/get-extended-balance
func (k *Kraken) Balance(ctx context.Context, a Account, coin string) (Balance, error) {
	names, err := k.holdings(ctx, coin)
	if err != nil {
		return Balance{}, err
	}
	var balances map[string]struct {
		Balance json.Number
		Hold    json.Number `json:"hold_trade"`
	}
	if err := k.private(ctx, a, "BalanceEx", url.Values{}, &balances); err != nil {
		return Balance{}, err
	}
	b := Balance{Total: money.Zero(Coin(coin)), Available: money.Zero(Coin(coin))}
	for name, tradable := range names {
		entry := balances[name]
		total, held := money.Zero(Coin(coin)), money.Zero(Coin(coin))
		for _, f := range []struct {
			name   string
			text   json.Number
			target *money.Amount
		}{{"balance", entry.Balance, &total}, {"hold_trade", entry.Hold, &held}} {
			if f.text == "" {
				continue
			}
			if *f.target, err = parseAmount(f.name, f.text, Coin(coin)); err != nil {
				return Balance{}, err
			}
		}
		b.Total = b.Total.Add(total)
		if tradable { // credit is not the merchant's, and is never sold
			b.Available = b.Available.Add(total).Sub(held)
		}
	}
	return b, nil
}

// holdings returns the names under which an account can hold a coin, from Kraken's list of assets.
// The value is true if the coins can be traded. See
// https://docs.kraken.com/api-reference/market-data/get-asset-info
func (k *Kraken) holdings(ctx context.Context, coin string) (map[string]bool, error) {
	_, pair, err := k.pair(ctx, coin)
	if err != nil {
		return nil, err
	}
	var assets map[string]struct{ Altname string }
	if err := k.public(ctx, "Assets", nil, &assets); err != nil {
		return nil, err
	}
	base := assets[pair.Base].Altname
	if base == "" {
		return nil, fmt.Errorf("%w about the asset %s", ErrNoAnswer, format.OneLine(pair.Base, maxMessage))
	}
	names := map[string]bool{pair.Base: true}
	for name, asset := range assets {
		if suffix, ok := strings.CutPrefix(asset.Altname, base+"."); ok {
			names[name] = suffix == "F"
		}
	}
	return names, nil
}

// Place implements Exchange. The order is immediate-or-cancel. Its fee is taken in euro (fciq:
// otherwise Kraken takes the fee of a sale in the coin). Its name is in cl_ord_id, which is unique
// only among open orders. See https://docs.kraken.com/api-reference/trading/add-order
func (k *Kraken) Place(ctx context.Context, a Account, o Order) (ref string, err error) {
	name, known := krakenPairs[o.Coin]
	if !known {
		return "", &RefusedError{KindOther, "there is no market for " + o.Coin}
	}
	var placed struct{ Txid []string }
	err = k.private(ctx, a, "AddOrder", url.Values{
		"pair": {name}, "type": {"sell"}, "ordertype": {"limit"}, "timeinforce": {"IOC"}, "oflags": {"fciq"},
		"volume": {o.Amount.String()}, "price": {o.Limit.String()}, "cl_ord_id": {o.ID},
		"deadline": {o.Deadline.UTC().Format(time.RFC3339)},
	}, &placed)
	if err != nil {
		return "", err
	}
	if len(placed.Txid) != 1 || placed.Txid[0] == "" {
		return "", fmt.Errorf("%w that names the order", ErrNoAnswer)
	}
	return format.OneLine(placed.Txid[0], maxMessage), nil
}

const (
	// krakenPage is the number of closed orders in one answer, krakenPages the largest
	// number of answers that one search reads.
	krakenPage  = 50
	krakenPages = 10
	// krakenMaxSkew is the largest difference between Kraken's clock and the local clock at which an
	// order is still found by its time.
	krakenMaxSkew = 2 * time.Minute
)
