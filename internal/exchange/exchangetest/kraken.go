package exchangetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// krakenNames maps Kraken's pairs to their coins and to Kraken's names of the coins.
var krakenNames = map[string]struct{ coin, base, asset, altname string }{
	"XXBTZEUR": {"BTC", "XXBT", "XBT", "XBTEUR"}, "XETHZEUR": {"ETH", "XETH", "ETH", "ETHEUR"},
	"XLTCZEUR": {"LTC", "XLTC", "LTC", "LTCEUR"}, "USDCEUR": {"USDC", "USDC", "USDC", "USDCEUR"},
}

// krakenPermission maps calls to the permissions that they need. See the pages of the calls in
// https://docs.kraken.com/api-reference
var krakenPermission = map[string]string{
	"BalanceEx": "query-funds", "OpenOrders": "query-open-trades", "QueryOrders": "query-open-trades", "ClosedOrders": "query-closed-trades",
	"AddOrder": "modify-trades", "GetApiKeyInfo": "",
}

func krakenError(text string) Answer {
	body, _ := json.Marshal(map[string]any{"error": []string{text}})
	return Answer{body: body}
}

func krakenAnswer(result any) Answer {
	body, _ := json.Marshal(map[string]any{"error": []string{}, "result": result})
	return Answer{body: body}
}

// kraken answers a call as Kraken does. The caller must hold the lock.
func (s *Server) kraken(r *http.Request, call, body string) Answer {
	switch call {
	case "AssetPairs", "Ticker", "Assets":
		if r.Method != http.MethodGet {
			s.wrong = append(s.wrong, "a public call that is not a GET")
		}
		if call == "Assets" {
			return s.krakenAssets()
		}
		return s.krakenPublic(call, r.URL.Query().Get("pair"))
	}
	permission, known := krakenPermission[call]
	form, err := url.ParseQuery(body)
	if !known || r.Method != http.MethodPost || err != nil {
		return krakenError("EGeneral:Unknown method")
	}
	if r.Header.Get("API-Key") != Key {
		return krakenError("EAPI:Invalid key")
	}
	secret, _ := base64.StdEncoding.DecodeString(Secret)
	sum := sha256.New()
	sum.Write([]byte(form.Get("nonce") + body))
	mac := hmac.New(sha512.New, secret)
	mac.Write(append([]byte(r.URL.Path), sum.Sum(nil)...))
	if base64.StdEncoding.EncodeToString(mac.Sum(nil)) != r.Header.Get("API-Sign") {
		return krakenError("EAPI:Invalid signature")
	}
	nonce, err := strconv.ParseInt(form.Get("nonce"), 10, 64)
	if err != nil || nonce <= s.nonce {
		return krakenError("EAPI:Invalid nonce")
	}
	s.nonce = nonce
	if permission != "" && !slices.Contains(s.permissions, permission) {
		return krakenError("EGeneral:Permission denied")
	}
	switch call {
	case "GetApiKeyInfo":
		return krakenAnswer(map[string]any{"apiKeyName": "chequer", "apiKey": Key, "nonce": form.Get("nonce"), "nonceWindow": 0, "permissions": s.permissions, "ipAllowlist": []string{}})
	case "BalanceEx":
		balances := map[string]map[string]string{"ZEUR": {"balance": "12.5000", "hold_trade": "0.0000"}}
		for _, n := range krakenNames {
			free := new(big.Rat).Set(s.total(n.coin))
			for suffix, amount := range s.earning[n.coin] {
				held := amount
				if free.Cmp(held) < 0 {
					held = free
				}
				free = new(big.Rat).Sub(free, held)
				balances[n.asset+"."+suffix] = map[string]string{"balance": digits(held, 10), "hold_trade": "0.0000000000"}
			}
			balances[n.base] = map[string]string{"balance": digits(free, 10), "hold_trade": "0.0000000000"}
		}
		return krakenAnswer(balances)
	case "AddOrder":
		return s.krakenAdd(form)
	}
	return s.krakenOrders(call, form)
}

// krakenSuffixes are the suffixes of coins on hold and in earning programmes.
var krakenSuffixes = []string{"B", "F", "HOLD", "M", "S"}

func (s *Server) krakenAssets() Answer {
	assets := map[string]any{"ZEUR": map[string]any{"aclass": "currency", "altname": "EUR", "decimals": 4, "display_decimals": 2, "status": "enabled"}}
	for _, n := range krakenNames {
		assets[n.base] = map[string]any{"aclass": "currency", "altname": n.asset, "decimals": 10, "display_decimals": 5, "status": "enabled"}
		for _, suffix := range krakenSuffixes {
			assets[n.asset+"."+suffix] = map[string]any{"aclass": "currency", "altname": n.asset + "." + suffix, "decimals": 10, "display_decimals": 5, "status": "enabled"}
		}
	}
	return krakenAnswer(assets)
}

func (s *Server) krakenPublic(call, pair string) Answer {
	n, known := krakenNames[pair]
	if !known {
		return krakenError("EQuery:Unknown asset pair")
	}
	if call == "Ticker" {
		bid := digits(s.bids[n.coin], 5)
		return krakenAnswer(map[string]any{pair: map[string]any{
			"a": []string{bid, "1", "1.000"}, "b": []string{bid, "1", "1.000"}, "c": []string{bid, "0.00100000"}, "v": []string{"1", "2"},
		}})
	}
	return krakenAnswer(map[string]any{pair: map[string]any{
		"altname": n.altname, "base": n.base, "quote": "ZEUR", "pair_decimals": 2, "cost_decimals": 5, "lot_decimals": 8, "lot_multiplier": 1,
		"ordermin": "0.00005", "costmin": "0.5", "tick_size": "0.01", "status": s.status,
	}})
}

// krakenAdd accepts an order. It is stricter than Kraken, because Chequer sends only one kind of
// order.
func (s *Server) krakenAdd(form url.Values) Answer {
	n, known := krakenNames[form.Get("pair")]
	if !known {
		return krakenError("EQuery:Unknown asset pair")
	}
	for name, want := range map[string]string{"type": "sell", "ordertype": "limit", "timeinforce": "IOC", "oflags": "fciq"} {
		if form.Get(name) != want {
			s.wrong = append(s.wrong, fmt.Sprintf("an order whose %s is %q", name, form.Get(name)))
		}
	}
	deadline, err := time.Parse(time.RFC3339, form.Get("deadline"))
	if err != nil || deadline.After(s.now().Add(time.Minute)) {
		return krakenError("EGeneral:Invalid arguments:deadline")
	}
	if deadline.Before(s.now()) {
		return krakenError("EService:Deadline elapsed")
	}
	volume, price := rat(form.Get("volume")), rat(form.Get("price"))
	switch {
	case s.status != "online" && s.status != "limit_only":
		return krakenError("EService:Market in " + s.status + " mode")
	case !isMultiple(volume, "0.00000001"):
		return krakenError("EGeneral:Invalid arguments:volume")
	case !isMultiple(price, "0.01"):
		return krakenError("EOrder:Tick size check failed")
	case volume.Cmp(rat("0.00005")) < 0:
		return krakenError("EOrder:Order minimum not met")
	case s.total(n.coin).Cmp(volume) < 0:
		return krakenError("EOrder:Insufficient funds")
	}
	o := s.accept(form.Get("cl_ord_id"), n.coin, volume, price)
	return krakenAnswer(map[string]any{
		"descr": map[string]string{"order": "sell " + form.Get("volume") + " " + n.altname + " @ limit " + form.Get("price")}, "txid": []string{o.ref},
	})
}

// krakenOrders lists orders. QueryOrders accepts only Kraken's own identifier.
func (s *Server) krakenOrders(call string, form url.Values) Answer {
	found := map[string]any{}
	start, _ := strconv.ParseInt(form.Get("start"), 10, 64)
	end, endText := s.now().Unix(), form.Get("end")
	if endText != "" {
		end, _ = strconv.ParseInt(endText, 10, 64)
	}
	offset, _ := strconv.Atoi(form.Get("ofs"))
	skipped := 0
	for _, o := range slices.Backward(s.orders) {
		isOpen := o.status == "open" || o.status == "pending"
		id := form.Get("cl_ord_id")
		if s.unfiltered && id != "" && !isOpen { // a filter that does not find closed orders
			continue
		}
		switch {
		case call == "QueryOrders" && o.ref != form.Get("txid"), call == "OpenOrders" && !isOpen, call == "ClosedOrders" && isOpen,
			call != "QueryOrders" && id != "" && o.id != id, o.createdAt.Unix() <= start, endText != "" && o.createdAt.Unix() > end, s.hidden:
			continue
		}
		if skipped < offset {
			skipped++
			continue
		}
		if len(found) == 50 { // the size of a page of Kraken
			break
		}
		found[o.ref] = o.kraken()
	}
	switch call {
	case "OpenOrders":
		return krakenAnswer(map[string]any{"open": found})
	case "ClosedOrders":
		return krakenAnswer(map[string]any{"closed": found})
	}
	if len(found) == 0 {
		return krakenError("EOrder:Unknown order")
	}
	return krakenAnswer(found)
}

func (o *order) kraken() map[string]any {
	pair := ""
	for _, n := range krakenNames {
		if n.coin == o.coin {
			pair = n.altname
		}
	}
	var id any
	if o.id != "" {
		id = o.id
	}
	return map[string]any{
		"refid": nil, "userref": nil, "cl_ord_id": id, "status": o.status, "opentm": float64(o.createdAt.UnixMilli()) / 1000, "starttm": 0, "expiretm": 0,
		"descr": map[string]string{"pair": pair, "type": "sell", "ordertype": "limit", "price": digits(o.limit, 2), "price2": "0", "leverage": "none"},
		"vol":   digits(o.volume, 8), "vol_exec": digits(o.sold, 8), "cost": digits(o.cost, 5), "fee": digits(o.fee, 5), "price": "0.00000",
		"misc": "", "oflags": "fciq", "reason": "",
	}
}
