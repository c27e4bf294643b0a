package exchange

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

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
	// krakenMaxDrift bounds how far Kraken's clock can be behind ours when it accepts an order: it
	// refuses a deadline that is more than 60 seconds ahead.
	krakenMaxDrift = 60 * time.Second
)

// Window implements Exchange.
func (k *Kraken) Window(made time.Time) (deadline, over time.Time) {
	deadline = made.Add(krakenOrderTTL)
	return deadline, deadline.Add(krakenMaxDrift)
}

// Permissions of a key, by their names in GetApiKeyInfo. See
// https://docs.kraken.com/api-reference/account-data/get-api-key-info, "permissions".
var (
	krakenRequired = []string{"query-funds", "query-open-trades", "query-closed-trades", "modify-trades"}
	krakenHarmless = []string{"add-funds", "earn-funds", "close-trades", "query-ledger", "export-data", "create-ws-token"}
	// Adding an address for withdrawals is a step of a withdrawal.
	krakenWithdraws = []string{"withdraw-funds", "add-withdraw-address", "update-withdraw-address"}
)

// Examine implements Exchange with the call that returns the permissions of a key.
func (k *Kraken) Examine(ctx context.Context, a Account) (Scope, error) {
	var info struct{ Permissions []string }
	if err := k.private(ctx, a, "GetApiKeyInfo", url.Values{}, &info); err != nil {
		return Scope{}, err
	}
	if len(info.Permissions) == 0 {
		return Scope{}, fmt.Errorf("%w about the permissions of the key", ErrUnreachable)
	}
	var s Scope
	for _, need := range krakenRequired {
		if !slices.Contains(info.Permissions, need) {
			s.Missing = append(s.Missing, need)
		}
	}
	for _, p := range info.Permissions {
		switch {
		case slices.Contains(krakenWithdraws, p):
			s.Withdraw = append(s.Withdraw, p)
		case !slices.Contains(krakenRequired, p) && !slices.Contains(krakenHarmless, p):
			s.Unknown = append(s.Unknown, words(p))
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
	var all map[string]krakenMarket
	if err := k.public(ctx, "AssetPairs", url.Values{"pair": {name}}, &all); err != nil {
		return name, m, err
	}
	m, found := all[name]
	if !found || m.LotDecimals == nil || m.PairDecimals == nil || *m.LotDecimals < 0 || *m.LotDecimals > 18 || *m.PairDecimals < 0 || *m.PairDecimals > 18 {
		return name, m, fmt.Errorf("%w about %s", ErrUnreachable, name)
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
	if m.Tick, err = figure("tick_size", tick, Euro); err != nil {
		return m, err
	}
	if m.MinAmount, err = figure("ordermin", pair.OrderMin, Coin(coin)); err != nil {
		return m, err
	}
	if pair.CostMin != "" {
		if m.MinValue, err = figure("costmin", pair.CostMin, Euro); err != nil {
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
		return m, fmt.Errorf("%w about the bid of %s", ErrUnreachable, name)
	}
	m.Bid, err = figure("bid", tickers[name].B[0], Euro)
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
	var all map[string]struct {
		Balance json.Number
		Hold    json.Number `json:"hold_trade"`
	}
	if err := k.private(ctx, a, "BalanceEx", url.Values{}, &all); err != nil {
		return Balance{}, err
	}
	b := Balance{Total: money.Zero(Coin(coin)), Available: money.Zero(Coin(coin))}
	for name, tradable := range names {
		entry := all[name]
		total, held := money.Zero(Coin(coin)), money.Zero(Coin(coin))
		for _, f := range []struct {
			what string
			text json.Number
			into *money.Amount
		}{{"balance", entry.Balance, &total}, {"hold_trade", entry.Hold, &held}} {
			if f.text == "" {
				continue
			}
			if *f.into, err = figure(f.what, f.text, Coin(coin)); err != nil {
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
		return nil, fmt.Errorf("%w about the asset %s", ErrUnreachable, words(pair.Base))
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
		return "", &Refused{KindOther, "there is no market for " + o.Coin}
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
		return "", fmt.Errorf("%w that names the order", ErrUnreachable)
	}
	return words(placed.Txid[0]), nil
}

// krakenOrder is an order of OpenOrders, ClosedOrders or QueryOrders. See
// https://docs.kraken.com/api-reference/account-data/get-closed-orders
type krakenOrder struct {
	Status  string // pending, open, closed, canceled, expired
	ID      string `json:"cl_ord_id"`
	Vol     json.Number
	VolExec json.Number `json:"vol_exec"`
	Cost    json.Number
	Fee     json.Number
	Descr   struct{ Pair, Type, Ordertype, Price string }
}

const (
	// krakenPage is the number of closed orders in one answer, krakenPages the largest
	// number of answers that one search reads.
	krakenPage  = 50
	krakenPages = 10
	// krakenMaxSkew is the largest difference between Kraken's clock and ours at which an
	// order is still found by its time.
	krakenMaxSkew = 2 * time.Minute
)

// Find implements Exchange. QueryOrders accepts only Kraken's own identifier. By our name an order
// is searched in the open orders, in the closed orders filtered by name, and in the closed orders
// of its time. The documentation does not say whether the filter by name covers closed orders, so
// the filter alone is trusted only after it has found another closed order by its name.
func (k *Kraken) Find(ctx context.Context, a Account, o Order, ref string) (Outcome, error) {
	if ref != "" {
		var found map[string]krakenOrder
		if err := k.private(ctx, a, "QueryOrders", url.Values{"txid": {ref}}, &found); err != nil {
			return Outcome{}, err
		}
		order, there := found[ref]
		if !there {
			return Outcome{}, ErrAbsent
		}
		return o.ofKraken(ref, order)
	}
	var open struct{ Open map[string]krakenOrder }
	if err := k.private(ctx, a, "OpenOrders", url.Values{}, &open); err != nil {
		return Outcome{}, err
	}
	if open.Open == nil {
		return Outcome{}, fmt.Errorf("%w that lists the open orders", ErrUnreachable)
	}
	orders := open.Open
	named, err := k.closed(ctx, a, url.Values{"cl_ord_id": {o.ID}}, 0)
	if err != nil {
		return Outcome{}, err
	}
	maps.Copy(orders, named)
	if !o.among(orders) {
		if err := k.closedSince(ctx, a, o, orders); err != nil {
			return Outcome{}, err
		}
	}
	mine := ""
	for ref, order := range orders {
		switch {
		case order.ID != o.ID:
		case mine != "":
			return Outcome{}, fmt.Errorf("%w: both %s and %s have its name", ErrAlike, words(mine), words(ref))
		default:
			mine = ref
		}
	}
	if mine != "" {
		return o.ofKraken(words(mine), orders[mine])
	}
	for ref, order := range orders {
		if order.ID == "" && o.alike(order) {
			return Outcome{}, fmt.Errorf("%w: %s", ErrAlike, words(ref))
		}
	}
	return Outcome{}, ErrAbsent
}

// closedSince adds the closed orders of an order's time to a map. The time of a sent order ends
// with its deadline. The time of an unsent order has no end, so that the list can be long: reading
// stops after one page if the filter by name covers closed orders. Reading stops after krakenPages
// in any case, and returns ErrUnreachable if the filter by name does not cover closed orders.
func (k *Kraken) closedSince(ctx context.Context, a Account, o Order, into map[string]krakenOrder) error {
	form := url.Values{"start": {strconv.FormatInt(o.Made.Add(-krakenMaxSkew).Unix(), 10)}, "closetime": {"open"}}
	sent := !o.Deadline.IsZero()
	if sent {
		form.Set("end", strconv.FormatInt(o.Deadline.Add(krakenMaxSkew).Unix(), 10))
	}
	judged := false
	for page := range krakenPages {
		orders, err := k.closed(ctx, a, form, page)
		if err != nil {
			return err
		}
		maps.Copy(into, orders)
		if len(orders) < krakenPage {
			return nil
		}
		if sent && page < krakenPages-1 || judged {
			continue
		}
		var filters bool
		if filters, judged, err = k.filters(ctx, a, orders); err != nil {
			return err
		}
		if filters {
			return nil
		}
	}
	return fmt.Errorf("%w to a search by name: there are more closed orders than one search reads", ErrUnreachable)
}

// filters reports whether the filter by name finds closed orders, by a test with one of the orders
// that has a name. judged is false if none has.
func (k *Kraken) filters(ctx context.Context, a Account, orders map[string]krakenOrder) (found, judged bool, err error) {
	for ref, order := range orders {
		if order.ID == "" {
			continue
		}
		named, err := k.closed(ctx, a, url.Values{"cl_ord_id": {order.ID}}, 0)
		_, found := named[ref]
		for _, other := range named {
			found = found && other.ID == order.ID // another name: the filter is ignored
		}
		return found, true, err
	}
	return false, false, nil
}

// closed reads one page of closed orders.
func (k *Kraken) closed(ctx context.Context, a Account, form url.Values, page int) (map[string]krakenOrder, error) {
	form.Set("without_count", "true")
	form.Set("ofs", strconv.Itoa(page*krakenPage))
	var list struct{ Closed map[string]krakenOrder }
	if err := k.private(ctx, a, "ClosedOrders", form, &list); err != nil {
		return nil, err
	}
	if list.Closed == nil {
		return nil, fmt.Errorf("%w that lists the closed orders", ErrUnreachable)
	}
	return list.Closed, nil
}

// among reports whether one of the orders has the order's name.
func (o Order) among(orders map[string]krakenOrder) bool {
	for _, order := range orders {
		if order.ID == o.ID {
			return true
		}
	}
	return false
}

// alike reports whether an order without a name may be this order.
func (o Order) alike(k krakenOrder) bool {
	volume, err := money.Parse(k.Vol.String(), Coin(o.Coin))
	price, fault := money.Parse(k.Descr.Price, Euro)
	return k.Descr.Type == "sell" && err == nil && volume.Equal(o.Amount) && fault == nil && price.Equal(o.Limit)
}

// ofKraken parses the state of an order.
func (o Order) ofKraken(ref string, k krakenOrder) (Outcome, error) {
	out := Outcome{Ref: ref}
	var err error
	if out.Sold, err = figure("vol_exec", k.VolExec, Coin(o.Coin)); err != nil {
		return out, err
	}
	if out.Euro, err = figure("cost", k.Cost, Euro); err != nil {
		return out, err
	}
	if out.Fee, err = figure("fee", k.Fee, Euro); err != nil {
		return out, err
	}
	switch k.Status {
	case "pending", "open":
		out.Open = true
	case "closed", "canceled", "expired":
	default:
		return out, fmt.Errorf("%w: an order has the status %.40q", ErrContradiction, k.Status)
	}
	if k.Descr.Type != "sell" || k.ID != "" && k.ID != o.ID {
		return out, fmt.Errorf("%w: order %s is another order", ErrContradiction, ref)
	}
	return out, o.check(out)
}

// public makes a call without an account.
func (k *Kraken) public(ctx context.Context, call string, query url.Values, into any) error {
	path := "/0/public/" + call
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	answer, err := k.client.get(ctx, path)
	if err != nil {
		return err
	}
	return krakenResult(answer, into)
}

// private makes a call of an account. API-Sign is the HMAC-SHA512, with the decoded secret as key,
// of the path and the SHA-256 of nonce and form. See
// https://docs.kraken.com/exchange/guides/rest/authentication
func (k *Kraken) private(ctx context.Context, a Account, call string, form url.Values, into any) error {
	secret, err := base64.StdEncoding.DecodeString(a.Secret)
	if err != nil {
		return &Refused{KindKey, "the secret is not Base64"}
	}
	path, nonce := "/0/private/"+call, strconv.FormatInt(a.Nonce(), 10)
	form.Set("nonce", nonce)
	text := form.Encode()
	header := http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"}, "Api-Key": {a.Key}, "Api-Sign": {krakenSign(secret, path, nonce, text)},
	}
	answer, err := k.client.do(ctx, http.MethodPost, path, text, header)
	if err != nil {
		return err
	}
	return krakenResult(answer, into)
}

func krakenSign(secret []byte, path, nonce, form string) string {
	sum := sha256.Sum256([]byte(nonce + form))
	mac := hmac.New(sha512.New, secret)
	mac.Write([]byte(path))
	mac.Write(sum[:])
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// krakenResult decodes an answer: errors, or a result. Kraken always answers with status 200; other
// statuses come from a proxy.
func krakenResult(r reply, into any) error {
	if r.status != http.StatusOK {
		return fmt.Errorf("%w but status %d", ErrUnreachable, r.status)
	}
	var answer struct {
		Error  []string
		Result json.RawMessage
	}
	if err := decode(r.body, &answer); err != nil {
		return err
	}
	for _, text := range answer.Error {
		if strings.HasPrefix(text, "W") {
			continue // a warning with a result
		}
		return krakenError(words(text))
	}
	if len(answer.Result) == 0 || string(answer.Result) == "null" {
		return fmt.Errorf("%w: neither an error nor a result", ErrUnreachable)
	}
	return decode(answer.Result, into)
}

// krakenErrors are the beginnings of the errors that mean that Kraken did nothing. See
// https://docs.kraken.com/exchange/guides/general/errors and
// https://support.kraken.com/hc/en-us/articles/360001491786. After any other error the outcome is
// unknown: an order may exist although the service was "unavailable", had an "internal error" or
// reached its deadline.
var krakenErrors = []struct {
	words string
	kind  Kind
}{
	{"EOrder:Insufficient funds", KindFunds},
	{"EOrder:Order minimum not met", KindMinimum},
	{"EOrder:Cost minimum not met", KindMinimum},
	{"EOrder:Invalid price", KindPrice},
	{"EOrder:Tick size check failed", KindOther},
	{"EOrder:Orders limit exceeded", KindBusy},
	{"EOrder:Rate limit exceeded", KindBusy},
	{"EOrder:Domain rate limit exceeded", KindBusy},
	{"EOrder:Trading agreement required", KindOther},
	{"EAPI:Rate limit exceeded", KindBusy},
	{"EAuth:Rate limit exceeded", KindBusy},
	{"EAuth:Too many requests", KindBusy},
	{"EGeneral:Temporary lockout", KindBusy},
	{"EGeneral:Too many requests", KindBusy},
	{"EService:Market in cancel_only mode", KindMaintenance},
	{"EService:Market in post_only mode", KindMaintenance},
	{"EAPI:Invalid nonce", KindNonce},
	{"EAPI:Invalid key", KindKey},
	{"EAPI:Invalid signature", KindKey},
	{"EGeneral:Permission denied", KindKey},
	{"EAccount:Invalid permissions", KindKey},
	{"EAuth:Account temporary disabled", KindKey},
	{"EAuth:Account unconfirmed", KindKey},
	{"EQuery:Unknown asset pair", KindOther},
	{"EQuery:Invalid asset pair", KindOther},
	{"EGeneral:Invalid arguments:volume", KindMinimum},
	{"EGeneral:Invalid arguments:price", KindPrice},
}

// krakenError returns the error for a text of Kraken.
func krakenError(text string) error {
	for _, e := range krakenErrors {
		if strings.HasPrefix(text, e.words) {
			return &Refused{e.kind, text}
		}
	}
	if strings.HasPrefix(text, "EOrder:Unknown order") || strings.HasPrefix(text, "EOrder:Invalid order") {
		return errors.Join(ErrAbsent, errors.New(text))
	}
	return fmt.Errorf("%w: %s", ErrUnreachable, text)
}
