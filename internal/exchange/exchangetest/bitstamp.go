package exchangetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bitstampNames maps Bitstamp's markets to coins.
var bitstampNames = map[string]string{"btceur": "BTC", "etheur": "ETH", "ltceur": "LTC", "usdceur": "USDC"}

// bitstampError returns an error answer of Bitstamp with the given fields.
func bitstampError(status int, fields map[string]any) Answer {
	fields["status"] = "error"
	body, _ := json.Marshal(fields)
	return Answer{status: status, body: body}
}

// bitstamp answers a call as Bitstamp does. The caller must hold the lock.
func (s *Server) bitstamp(r *http.Request, call, body string) Answer {
	if r.Method == http.MethodGet {
		return s.bitstampPublic(call)
	}
	content := ""
	if body != "" {
		content = "application/x-www-form-urlencoded"
	}
	if r.Header.Get("Content-Type") != content {
		return bitstampError(http.StatusForbidden, map[string]any{"reason": "Content-Type header is not accepted", "code": "API0019"})
	}
	nonce, timestamp := r.Header.Get("X-Auth-Nonce"), r.Header.Get("X-Auth-Timestamp")
	if r.Header.Get("X-Auth") != "BITSTAMP "+Key {
		return bitstampError(http.StatusForbidden, map[string]any{"reason": "API key not found", "code": "API0001"})
	}
	message := strings.Join([]string{"BITSTAMP " + Key, r.Method, r.Host, r.URL.Path, r.URL.RawQuery, content, nonce, timestamp, r.Header.Get("X-Auth-Version"), body}, "")
	if !strings.EqualFold(r.Header.Get("X-Auth-Signature"), bitstampMAC(message)) {
		return bitstampError(http.StatusForbidden, map[string]any{"reason": "Invalid signature", "code": "API0005"})
	}
	if len(nonce) != 36 || nonce != strings.ToLower(nonce) || s.nonces[nonce] {
		return bitstampError(http.StatusForbidden, map[string]any{"reason": "Invalid nonce", "code": "API0004"})
	}
	s.nonces[nonce] = true
	millis, err := strconv.ParseInt(timestamp, 10, 64)
	if age := s.now().Sub(time.UnixMilli(millis)); err != nil || age.Abs() > 150*time.Second { // the documented limit
		return bitstampError(http.StatusForbidden, map[string]any{"reason": "X-Auth-Timestamp header is out of boundaries", "code": "API0017"})
	}
	form, err := url.ParseQuery(body)
	if err != nil {
		return bitstampError(http.StatusBadRequest, map[string]any{"response_code": "400.007"})
	}
	a := s.bitstampPrivate(call, form)
	// The signature is the one that the example in the documentation verifies.
	a.header = http.Header{"X-Server-Auth-Signature": {bitstampMAC(nonce + timestamp + "application/json" + string(a.body))}}
	return a
}

func bitstampMAC(message string) string {
	mac := hmac.New(sha256.New, []byte(Secret))
	mac.Write([]byte(message))
	return hex.EncodeToString(mac.Sum(nil))
}

func (s *Server) bitstampPublic(call string) Answer {
	var result any
	if symbol, ok := strings.CutPrefix(call, "ticker/"); ok {
		bid := digits(s.bids[bitstampNames[symbol]], 5)
		result = map[string]string{"bid": bid, "ask": bid, "last": bid, "timestamp": strconv.FormatInt(s.now().Unix(), 10)}
	} else {
		trading := "Enabled"
		if s.status != "online" {
			trading = "Disabled"
		}
		var markets []map[string]any
		for symbol, coin := range bitstampNames {
			markets = append(markets, map[string]any{
				"name": coin + "/EUR", "market_symbol": symbol, "base_currency": coin, "base_decimals": 8, "counter_currency": "EUR", "counter_decimals": 2,
				"minimum_order_value": "10", "trading": trading, "instant_and_market_orders": "Enabled", "market_type": "SPOT",
			})
		}
		result = markets
	}
	body, _ := json.Marshal(result)
	return Answer{body: body}
}

func (s *Server) bitstampPrivate(call string, form url.Values) Answer {
	may := func(permission string) bool { return slices.Contains(s.permissions, permission) }
	var permission string
	switch {
	case call == "account_balances":
		permission = "query-funds"
	case call == "open_orders/all", call == "order_status":
		permission = "query-open-trades"
	case strings.HasPrefix(call, "sell/"):
		permission = "modify-trades"
	case strings.HasSuffix(call, "_withdrawal"), call == "withdrawal/open":
		permission = "withdraw-funds"
	}
	if permission == "" || !may(permission) {
		return bitstampError(http.StatusForbidden, map[string]any{"reason": "No permission found", "code": "API0003"})
	}
	var result any
	switch {
	case permission == "withdraw-funds":
		if form.Get("amount") != "" || form.Get("address") != "" {
			s.wrong = append(s.wrong, "a withdrawal")
		}
		return bitstampError(http.StatusBadRequest, map[string]any{"reason": "Missing amount and/or address POST parameters"})
	case call == "account_balances":
		var balances []map[string]string
		for _, coin := range bitstampNames {
			total := digits(s.total(coin), 8)
			balances = append(balances, map[string]string{"currency": strings.ToLower(coin), "total": total, "available": total, "reserved": "0.00000000"})
		}
		result = balances
	case call == "open_orders/all":
		result = []any{}
	case call == "order_status":
		for _, o := range s.orders {
			if !s.hidden && (o.ref == form.Get("id") || o.id != "" && o.id == form.Get("client_order_id")) {
				result = o.bitstamp()
			}
		}
		if result == nil {
			return bitstampError(http.StatusNotFound, map[string]any{"reason": "Order not found.", "response_code": "404.002"})
		}
	default:
		return s.bitstampSell(strings.TrimPrefix(call, "sell/"), form)
	}
	body, _ := json.Marshal(result)
	return Answer{body: body}
}

func (s *Server) bitstampSell(symbol string, form url.Values) Answer {
	if form.Get("amount") == "" || form.Get("price") == "" {
		return bitstampError(http.StatusBadRequest, map[string]any{"reason": "Missing amount and/or price POST parameters"})
	}
	if form.Get("ioc_order") != "True" {
		s.wrong = append(s.wrong, "an order that stays open")
	}
	coin, volume, price := bitstampNames[symbol], rat(form.Get("amount")), rat(form.Get("price"))
	reason := func(text string) Answer {
		return bitstampError(http.StatusBadRequest, map[string]any{"reason": map[string]any{"__all__": []string{text}}})
	}
	switch {
	case s.status != "online":
		return bitstampError(http.StatusBadRequest, map[string]any{"response_code": "400.003", "response_explanation": "Trading for provided market is disabled."})
	case s.total(coin).Cmp(volume) < 0:
		return reason("You have only " + digits(s.total(coin), 8) + " " + coin + " available. Check your account balance for details.")
	case !isMultiple(volume, "0.00000001") || !isMultiple(price, "0.01"):
		return reason("Ensure that there are no more than 2 decimal places.")
	}
	o := s.accept(form.Get("client_order_id"), coin, volume, price)
	o.ref = fmt.Sprint(1453282316578816 + len(s.orders))
	body, _ := json.Marshal(map[string]any{
		"id": o.ref, "market": coin + "/EUR", "datetime": s.now().Format(time.DateTime), "type": "1", "price": digits(price, 2), "amount": digits(volume, 8),
		"client_order_id": o.id,
	})
	return Answer{body: body}
}

func (o *order) bitstamp() map[string]any {
	transactions := []map[string]any{}
	if o.sold.Sign() > 0 {
		transactions = append(transactions, map[string]any{
			"tid": 209895701, "price": "0", strings.ToLower(o.coin): digits(o.sold, 8), "eur": digits(o.cost, 5), "fee": digits(o.fee, 5),
			"datetime": "2026-11-27 12:59:59.322000", "type": 2,
		})
	}
	status := "Canceled"
	if o.status == "closed" {
		status = "Finished"
	}
	id, _ := strconv.ParseInt(o.ref, 10, 64)
	return map[string]any{
		"id": id, "datetime": "2026-11-27 12:59:59", "type": "1", "status": status, "market": o.coin + "/EUR", "transactions": transactions,
		"amount_remaining": digits(o.unsold(), 8), "client_order_id": o.id,
	}
}
