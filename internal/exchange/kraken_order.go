package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strconv"

	"chequer/internal/format"
	"chequer/internal/money"
)

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

// Find implements Exchange. QueryOrders accepts only Kraken's own identifier. An order without it
// is searched by its name in the open orders, in the closed orders filtered by name, and in the
// closed orders of its time. The documentation does not state whether the filter by name covers
// closed orders, so the filter alone is trusted only after it has found another closed order.
func (k *Kraken) Find(ctx context.Context, a Account, o Order, ref string) (Outcome, error) {
	if ref != "" {
		var found map[string]krakenOrder
		if err := k.private(ctx, a, "QueryOrders", url.Values{"txid": {ref}}, &found); err != nil {
			return Outcome{}, err
		}
		order, isFound := found[ref]
		if !isFound {
			return Outcome{}, ErrNotFound
		}
		return o.parseKraken(ref, order)
	}
	var open struct{ Open map[string]krakenOrder }
	if err := k.private(ctx, a, "OpenOrders", url.Values{}, &open); err != nil {
		return Outcome{}, err
	}
	if open.Open == nil {
		return Outcome{}, fmt.Errorf("%w that lists the open orders", ErrNoAnswer)
	}
	orders := open.Open
	named, err := k.closedOrders(ctx, a, url.Values{"cl_ord_id": {o.ID}}, 0)
	if err != nil {
		return Outcome{}, err
	}
	maps.Copy(orders, named)
	if !o.isIn(orders) {
		if err := k.closedSince(ctx, a, o, orders); err != nil {
			return Outcome{}, err
		}
	}
	ownRef := ""
	for ref, order := range orders {
		switch {
		case order.ID != o.ID:
		case ownRef != "":
			return Outcome{}, fmt.Errorf("%w: both %s and %s have its name", ErrAmbiguous, format.OneLine(ownRef, maxMessage), format.OneLine(ref, maxMessage))
		default:
			ownRef = ref
		}
	}
	if ownRef != "" {
		return o.parseKraken(format.OneLine(ownRef, maxMessage), orders[ownRef])
	}
	for ref, order := range orders {
		if order.ID == "" && o.mayBe(order) {
			return Outcome{}, fmt.Errorf("%w: %s", ErrAmbiguous, format.OneLine(ref, maxMessage))
		}
	}
	return Outcome{}, ErrNotFound
}

// closedSince adds the closed orders of an order's time to a map. The time of a sent order ends
// with its deadline. The time of an unsent order has no end, so the list can be long: reading
// stops after one page if the filter by name covers closed orders. If it does not, closedSince
// returns ErrNoAnswer after krakenPages.
func (k *Kraken) closedSince(ctx context.Context, a Account, o Order, into map[string]krakenOrder) error {
	form := url.Values{"start": {strconv.FormatInt(o.CreatedAt.Add(-krakenMaxSkew).Unix(), 10)}, "closetime": {"open"}}
	sent := !o.Deadline.IsZero()
	if sent {
		form.Set("end", strconv.FormatInt(o.Deadline.Add(krakenMaxSkew).Unix(), 10))
	}
	tested := false
	for page := range krakenPages {
		orders, err := k.closedOrders(ctx, a, form, page)
		if err != nil {
			return err
		}
		maps.Copy(into, orders)
		if len(orders) < krakenPage {
			return nil
		}
		if sent && page < krakenPages-1 || tested {
			continue
		}
		var filters bool
		if filters, tested, err = k.testNameFilter(ctx, a, orders); err != nil {
			return err
		}
		if filters {
			return nil
		}
	}
	return fmt.Errorf("%w to a search by name: there are more closed orders than one search reads", ErrNoAnswer)
}

// testNameFilter reports whether the filter by name finds closed orders. It tests the filter with an order
// that has a name. tested is false if no order has a name.
func (k *Kraken) testNameFilter(ctx context.Context, a Account, orders map[string]krakenOrder) (found, tested bool, err error) {
	for ref, order := range orders {
		if order.ID == "" {
			continue
		}
		named, err := k.closedOrders(ctx, a, url.Values{"cl_ord_id": {order.ID}}, 0)
		_, found := named[ref]
		for _, other := range named {
			found = found && other.ID == order.ID // another name: the filter is ignored
		}
		return found, true, err
	}
	return false, false, nil
}

// closedOrders reads one page of closed orders.
func (k *Kraken) closedOrders(ctx context.Context, a Account, form url.Values, page int) (map[string]krakenOrder, error) {
	form.Set("without_count", "true")
	form.Set("ofs", strconv.Itoa(page*krakenPage))
	var list struct{ Closed map[string]krakenOrder }
	if err := k.private(ctx, a, "ClosedOrders", form, &list); err != nil {
		return nil, err
	}
	if list.Closed == nil {
		return nil, fmt.Errorf("%w that lists the closed orders", ErrNoAnswer)
	}
	return list.Closed, nil
}

// isIn reports whether one of the orders has the order's name.
func (o Order) isIn(orders map[string]krakenOrder) bool {
	for _, order := range orders {
		if order.ID == o.ID {
			return true
		}
	}
	return false
}

// mayBe reports whether an order without a name may be this order.
func (o Order) mayBe(k krakenOrder) bool {
	volume, err := money.Parse(k.Vol.String(), Coin(o.Coin))
	price, priceErr := money.Parse(k.Descr.Price, Euro)
	return k.Descr.Type == "sell" && err == nil && volume.Equal(o.Amount) && priceErr == nil && price.Equal(o.Limit)
}

// parseKraken parses the state of an order.
func (o Order) parseKraken(ref string, k krakenOrder) (Outcome, error) {
	out := Outcome{Ref: ref}
	var err error
	if out.Sold, err = parseAmount("vol_exec", k.VolExec, Coin(o.Coin)); err != nil {
		return out, err
	}
	if out.Euro, err = parseAmount("cost", k.Cost, Euro); err != nil {
		return out, err
	}
	if out.Fee, err = parseAmount("fee", k.Fee, Euro); err != nil {
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
