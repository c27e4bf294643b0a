package exchange

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
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

	"chequer/internal/format"
	"chequer/internal/money"
)

// BitstampURL is the base address of Bitstamp's API.
const BitstampURL = "https://www.bitstamp.net"

// Bitstamp is the exchange Bitstamp with its HTTP API v2, as documented at
// https://www.bitstamp.net/api/
type Bitstamp struct {
	client client
	now    func() time.Time
}

// NewBitstamp returns a new Bitstamp with the base address base, which is BitstampURL outside of
// tests. Its calls contain the time.
func NewBitstamp(base string, d Dialer, now func() time.Time) *Bitstamp {
	return &Bitstamp{newClient(base, d), now}
}

// bitstampMarkets are the markets in euro.
var bitstampMarkets = map[string]string{
	"BTC": "btceur", "ETH": "etheur", "LTC": "ltceur", "USDC": "usdceur", "USDT": "usdteur",
}

// Name implements Exchange.
func (b *Bitstamp) Name() string { return "bitstamp" }

// Coins implements Exchange.
func (b *Bitstamp) Coins() []string { return slices.Sorted(maps.Keys(bitstampMarkets)) }

const (
	// bitstampTimeout is the time from the creation of an order to its deadline by the local clock.
	bitstampTimeout = 10 * time.Second
	// bitstampMaxSkew is the largest accepted difference between the time in a call and Bitstamp's
	// clock. Bitstamp refuses other calls. An immediate-or-cancel order has no other deadline there.
	// See "Authentication", API0017.
	bitstampMaxSkew = 150 * time.Second
)

// Window implements Exchange. Bitstamp accepts the order until its clock is bitstampMaxSkew after createdAt, and its
// clock may be behind the local clock by as much.
func (b *Bitstamp) Window(createdAt time.Time) (deadline, end time.Time) {
	return createdAt.Add(bitstampTimeout), createdAt.Add(2 * bitstampMaxSkew)
}

// bitstampProbes are the calls that a key for selling must be able to make. They place no order:
// the call to sell has neither amount nor price, and no order has the requested name.
var bitstampProbes = []struct {
	path string
	form url.Values
}{
	{"account_balances/", nil},
	{"open_orders/all/", nil},
	{"order_status/", url.Values{"client_order_id": {"chequer-no-such-order"}}},
	{"sell/btceur/", nil},
}

// bitstampWithdrawals are the calls that withdraw money from an account. They are made without amount
// and address: the documented answer is "Missing amount and/or address POST parameters" if the key
// may withdraw, and "No permission found" if not. They cannot withdraw anything.
var bitstampWithdrawals = []string{
	"btc_withdrawal/", "eth_withdrawal/", "ltc_withdrawal/", "usdc_withdrawal/", "usdt_withdrawal/", "ripple_withdrawal/", "withdrawal/open/",
}

// Examine implements Exchange. Bitstamp has no call that returns the permissions of a key, so
// Examine tries the calls. For withdrawals, an answer that is not a clear refusal counts as
// permission, and an answer that gives no information is an error.
func (b *Bitstamp) Examine(ctx context.Context, a Account) (Scope, error) {
	var scope Scope
	for _, probe := range bitstampProbes {
		_, err := b.private(ctx, a, probe.path, probe.form, b.now())
		refusal, ok := errors.AsType[*RefusedError](err)
		switch {
		case ok && bitstampDenied(refusal):
			scope.Missing = append(scope.Missing, probe.path)
		case ok && (refusal.Kind == KindKey || refusal.Kind == KindNonce || refusal.Kind == KindBusy || refusal.Kind == KindMaintenance):
			return scope, err
		case err != nil && !ok && !errors.Is(err, ErrNotFound):
			return scope, err
		}
	}
	for _, path := range bitstampWithdrawals {
		_, err := b.private(ctx, a, path, nil, b.now())
		refusal, ok := errors.AsType[*RefusedError](err)
		switch {
		case ok && (bitstampDenied(refusal) || strings.Contains(refusal.Message, "with sub account API keys is not supported")): // the key may not withdraw
		case ok && (refusal.Kind == KindNonce || refusal.Kind == KindBusy || refusal.Kind == KindMaintenance):
			return scope, err
		case errors.Is(err, ErrNoAnswer):
			return scope, err
		default:
			scope.Withdraw = append(scope.Withdraw, path)
		}
	}
	return scope, nil
}

// bitstampDenied reports whether the key lacks the permission for a call.
func bitstampDenied(e *RefusedError) bool {
	return strings.Contains(e.Message, "API0003") || strings.Contains(e.Message, "No permission found")
}

// Market implements Exchange. See "Markets" and "Market ticker".
func (b *Bitstamp) Market(ctx context.Context, coin string) (Market, error) {
	symbol, known := bitstampMarkets[coin]
	if !known {
		return Market{}, fmt.Errorf("%w for %s", ErrNoMarket, coin)
	}
	answer, err := b.public(ctx, "markets/")
	if err != nil {
		return Market{}, err
	}
	type market struct {
		Symbol          string      `json:"market_symbol"`
		BaseDecimals    *int32      `json:"base_decimals"`
		CounterDecimals *int32      `json:"counter_decimals"`
		MinValue        json.Number `json:"minimum_order_value"`
		MinAmount       json.Number `json:"minimum_order_amount"`
		Tick            json.Number `json:"tick_size"`
		Trading         string
	}
	var markets []market
	if err := decode(answer, &markets); err != nil {
		return Market{}, err
	}
	i := slices.IndexFunc(markets, func(m market) bool { return m.Symbol == symbol })
	if i < 0 || !hasDecimals(markets[i].BaseDecimals) || !hasDecimals(markets[i].CounterDecimals) {
		return Market{}, fmt.Errorf("%w about %s", ErrNoAnswer, symbol)
	}
	found := markets[i]
	m := Market{Open: found.Trading == "Enabled", Lot: *found.BaseDecimals, MinAmount: money.Zero(Coin(coin))}
	if found.Tick == "" {
		found.Tick = json.Number(money.FromCents(1, money.Currency{Decimals: *found.CounterDecimals}).String())
	}
	if m.Tick, err = parseAmount("tick_size", found.Tick, Euro); err != nil {
		return m, err
	}
	if m.MinValue, err = parseAmount("minimum_order_value", found.MinValue, Euro); err != nil {
		return m, err
	}
	if found.MinAmount != "" {
		if m.MinAmount, err = parseAmount("minimum_order_amount", found.MinAmount, Coin(coin)); err != nil {
			return m, err
		}
	}
	if answer, err = b.public(ctx, "ticker/"+symbol+"/"); err != nil {
		return m, err
	}
	var ticker struct{ Bid json.Number }
	if err := decode(answer, &ticker); err != nil {
		return m, err
	}
	m.Bid, err = parseAmount("bid", ticker.Bid, Euro)
	return m, err
}

// Balance implements Exchange. See "Account balances".
func (b *Bitstamp) Balance(ctx context.Context, a Account, coin string) (Balance, error) {
	answer, err := b.private(ctx, a, "account_balances/", nil, b.now())
	if err != nil {
		return Balance{}, err
	}
	var balances []struct {
		Currency         string
		Total, Available json.Number
	}
	if err := decode(answer, &balances); err != nil {
		return Balance{}, err
	}
	for _, entry := range balances {
		if !strings.EqualFold(entry.Currency, coin) {
			continue
		}
		total, err := parseAmount("total", entry.Total, Coin(coin))
		if err != nil {
			return Balance{}, err
		}
		available, err := parseAmount("available", entry.Available, Coin(coin))
		return Balance{Total: total, Available: available}, err
	}
	return Balance{Total: money.Zero(Coin(coin)), Available: money.Zero(Coin(coin))}, nil
}

// Place implements Exchange. The call contains the time of the order, so that Bitstamp refuses it
// if it arrives too late. See "Sell limit order": client_order_id "should be unique, but there are
// no additional constraints or checks guaranteed".
func (b *Bitstamp) Place(ctx context.Context, a Account, o Order) (ref string, err error) {
	symbol, known := bitstampMarkets[o.Coin]
	if !known {
		return "", &RefusedError{KindOther, "there is no market for " + o.Coin}
	}
	answer, err := b.private(ctx, a, "sell/"+symbol+"/", url.Values{
		"amount": {o.Amount.String()}, "price": {o.Limit.String()}, "ioc_order": {"True"}, "client_order_id": {o.ID},
	}, o.CreatedAt)
	if err != nil {
		return "", err
	}
	var placed struct{ ID json.Number }
	if err := decode(answer, &placed); err != nil {
		return "", err
	}
	if placed.ID == "" {
		return "", fmt.Errorf("%w: the answer lacks the ID of the order", ErrNoAnswer)
	}
	return format.OneLine(placed.ID.String(), maxMessage), nil
}

// Find implements Exchange. See "Order status": it returns orders that are open or were closed
// within 30 days, by either identifier. An order that it does not return may be in "All open
// orders".
func (b *Bitstamp) Find(ctx context.Context, a Account, o Order, ref string) (Outcome, error) {
	form := url.Values{"client_order_id": {o.ID}}
	if ref != "" {
		form = url.Values{"id": {ref}}
	}
	answer, err := b.private(ctx, a, "order_status/", form, b.now())
	if err == nil {
		return o.parseBitstamp(answer)
	}
	if !errors.Is(err, ErrNotFound) || ref != "" {
		return Outcome{}, err
	}
	open, openErr := b.private(ctx, a, "open_orders/all/", nil, b.now())
	if openErr != nil {
		return Outcome{}, openErr
	}
	var transactions []struct {
		ID      json.Number
		OrderID string `json:"client_order_id"`
	}
	if openErr := decode(open, &transactions); openErr != nil {
		return Outcome{}, openErr
	}
	for _, order := range transactions {
		if order.OrderID == o.ID {
			return Outcome{Ref: format.OneLine(order.ID.String(), maxMessage), Open: true, Sold: money.Zero(o.Amount.Currency()), Euro: money.Zero(Euro), Fee: money.Zero(Euro)}, nil
		}
	}
	return Outcome{}, err
}

// parseBitstamp parses the state of an order. The amounts are the sums over its transactions.
func (o Order) parseBitstamp(answer []byte) (Outcome, error) {
	var found struct {
		ID           json.Number
		Status, Type string
		OrderID      string      `json:"client_order_id"`
		Remaining    json.Number `json:"amount_remaining"`
		Transactions []map[string]json.RawMessage
	}
	if err := decode(answer, &found); err != nil {
		return Outcome{}, err
	}
	out := Outcome{Ref: format.OneLine(found.ID.String(), maxMessage), Sold: money.Zero(o.Amount.Currency()), Euro: money.Zero(Euro), Fee: money.Zero(Euro)}
	for _, t := range found.Transactions {
		for _, f := range []struct {
			name     string
			currency money.Currency
			target   *money.Amount
		}{{strings.ToLower(o.Coin), o.Amount.Currency(), &out.Sold}, {"eur", Euro, &out.Euro}, {"fee", Euro, &out.Fee}} {
			amount, err := parseAmount(f.name+" of a transaction", json.Number(strings.Trim(string(t[f.name]), `"`)), f.currency)
			if err != nil {
				return out, err
			}
			*f.target = f.target.Add(amount)
		}
	}
	const buy = "0"
	if found.Type == buy || found.OrderID != "" && found.OrderID != o.ID {
		return out, fmt.Errorf("%w: order %s is another order", ErrContradiction, out.Ref)
	}
	switch found.Status {
	case "Open", "In Queue", "Cancel pending":
		out.Open = true
	case "Finished", "Canceled", "Expired":
		remaining, err := parseAmount("amount_remaining", found.Remaining, o.Amount.Currency())
		if err != nil {
			return out, err
		}
		// Transactions may be recorded a moment after the order is closed.
		out.Open = out.Sold.Add(remaining).Cmp(o.Amount) < 0
	default:
		return out, fmt.Errorf("%w: an order has the status %.40q", ErrContradiction, found.Status)
	}
	return out, o.check(out)
}

// public makes a call without an account.
func (b *Bitstamp) public(ctx context.Context, path string) ([]byte, error) {
	answer, err := b.client.get(ctx, "/api/v2/"+path)
	if err != nil {
		return nil, err
	}
	return answer.body, bitstampError(answer)
}

// private makes a call of an account with a time. The signature is the HMAC-SHA256, in hex, of the
// fields listed in "Authentication"; a call without a body has no content type. If the answer has a
// signature, it must be valid.
func (b *Bitstamp) private(ctx context.Context, a Account, path string, form url.Values, at time.Time) ([]byte, error) {
	path = "/api/v2/" + path
	nonce, timestamp, body := UUID("bitstamp "+strconv.FormatInt(a.Nonce(), 10)), strconv.FormatInt(at.UnixMilli(), 10), form.Encode()
	header := http.Header{"X-Auth": {"BITSTAMP " + a.Key}, "X-Auth-Nonce": {nonce}, "X-Auth-Timestamp": {timestamp}, "X-Auth-Version": {"v2"}}
	content := ""
	if body != "" {
		content = "application/x-www-form-urlencoded"
		header.Set("Content-Type", content)
	}
	header.Set("X-Auth-Signature", bitstampSign(a.Secret, "BITSTAMP "+a.Key+http.MethodPost+b.client.host()+path+content+nonce+timestamp+"v2"+body))
	answer, err := b.client.do(ctx, http.MethodPost, path, body, header)
	if err != nil {
		return nil, err
	}
	if received := answer.header.Get("X-Server-Auth-Signature"); received != "" {
		computed := bitstampSign(a.Secret, nonce+timestamp+answer.header.Get("Content-Type")+string(answer.body))
		if !hmac.Equal([]byte(strings.ToLower(received)), []byte(computed)) {
			return nil, fmt.Errorf("%w: the signature of the answer is wrong", ErrNoAnswer)
		}
	}
	return answer.body, bitstampError(answer)
}

func bitstampSign(secret, message string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(message))
	return hex.EncodeToString(mac.Sum(nil))
}

// bitstampFault is an error of Bitstamp, which has several forms.
type bitstampFault struct {
	Status       string
	Reason       json.RawMessage
	Error        json.RawMessage
	Code         string
	ResponseCode string `json:"response_code"`
	Explanation  string `json:"response_explanation"`
}

// bitstampCodes are the codes of errors after which Bitstamp has not executed the call. See "Response codes"
// and "Possible authentication errors". The outcome is unknown after the codes of status 500, and after the
// error that an order with the same name exists.
var bitstampCodes = map[string]Kind{
	"400.002": KindBusy, "400.067": KindBusy, "400.068": KindBusy, "400.003": KindMaintenance, "400.009": KindFunds,
	"400.020": KindMinimum, "400.046": KindMinimum, "400.021": KindPrice,
	"API0001": KindKey, "API0002": KindKey, "API0003": KindKey, "API0004": KindNonce, "API0005": KindKey, "API0006": KindKey,
	"API0008": KindKey, "API0009": KindKey, "API0011": KindKey, "API0017": KindNonce,
}

// bitstampTexts are texts in answers without a code, with the kind of error that each means.
var bitstampTexts = []struct {
	text string
	kind Kind
}{
	{"No permission found", KindKey},
	{"Invalid nonce", KindNonce},
	{"Invalid signature", KindKey},
	{"API key not found", KindKey},
	{"Check your account balance for details", KindFunds},
	{"Minimum order size is", KindMinimum},
	{"Price is more than", KindPrice},
	{"under scheduled maintenance", KindMaintenance},
	{"Missing amount and/or", KindOther},
	{"Ensure that there are no more than", KindOther},
	{"with sub account API keys is not supported", KindOther},
	{"This field is required", KindOther},
}

// bitstampError returns the error of an answer, or nil if it is a result.
func bitstampError(r response) error {
	var f bitstampFault
	isObject := json.Unmarshal(r.body, &f) == nil
	isReported := isObject && (f.Status == "error" || len(f.Error) > 0 || f.Code != "" || f.ResponseCode != "")
	if r.status < 300 && !isReported {
		return nil
	}
	message := format.OneLine(strings.Join([]string{f.Code, f.ResponseCode, f.Explanation, string(f.Reason), string(f.Error)}, " "), maxMessage)
	const nameExists = "400.019" // an order with the same name exists
	if r.status >= 500 || strings.HasPrefix(f.ResponseCode, "500.") || f.ResponseCode == nameExists || !isReported {
		if r.status == http.StatusTooManyRequests {
			return &RefusedError{KindBusy, "status 429"}
		}
		return fmt.Errorf("%w: status %d: %.120s", ErrNoAnswer, r.status, message)
	}
	if f.ResponseCode == "404.002" || strings.Contains(message, "Order not found") {
		return ErrNotFound
	}
	for _, code := range []string{f.Code, f.ResponseCode} {
		if kind, known := bitstampCodes[code]; known {
			return &RefusedError{kind, message}
		}
	}
	for _, s := range bitstampTexts {
		if strings.Contains(message, s.text) {
			return &RefusedError{s.kind, message}
		}
	}
	switch {
	case strings.HasPrefix(f.ResponseCode, "403."):
		return &RefusedError{KindKey, message}
	case strings.HasPrefix(f.ResponseCode, "400."), strings.HasPrefix(f.ResponseCode, "404."):
		return &RefusedError{KindOther, message}
	}
	return fmt.Errorf("%w: %.120s", ErrNoAnswer, message)
}
