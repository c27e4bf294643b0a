package exchange_test

import (
	"math/big"
	"testing"

	"chequer/internal/clocktest"
	"chequer/internal/exchange"
	"chequer/internal/exchange/exchangetest"
	"chequer/internal/money"
)

func btc(text string) money.Amount { return money.MustParse(text, exchange.Coin("BTC")) }

func eur(text string) money.Amount { return money.MustParse(text, exchange.Euro) }

// fixture is an exchange with an account and a clock.
type fixture struct {
	*exchangetest.Server
	exchange exchange.Exchange
	account  exchange.Account
	clock    *clocktest.Clock
	calls    map[string]string // the exchange's names of the calls place, find, balance and markets
}

// onBoth runs a test with both exchanges.
func onBoth(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	for _, name := range []string{"kraken", "bitstamp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newFixture(t, name))
		})
	}
}

func newFixture(t testing.TB, name string) *fixture {
	clock := clocktest.New(noon)
	f := &fixture{Server: exchangetest.New(t, clock.Now), clock: clock}
	nonce := noon.UnixMicro()
	f.account = exchange.Account{Key: exchangetest.Key, Secret: exchangetest.Secret, Nonce: func() int64 { nonce++; return nonce }}
	f.exchange = exchange.NewKraken(exchangetest.URL, f.Server)
	f.calls = map[string]string{"place": "AddOrder", "find": "QueryOrders", "balance": "BalanceEx", "markets": "AssetPairs"}
	if name == "bitstamp" {
		f.exchange = exchange.NewBitstamp(exchangetest.URL, f.Server, clock.Now)
		f.calls = map[string]string{"place": "sell/btceur", "find": "order_status", "balance": "account_balances", "markets": "markets"}
	}
	f.Deposit("BTC", "1")
	return f
}

// order returns an order for an amount with a limit.
func (f *fixture) order(amount, limit string) exchange.Order {
	o := exchange.Order{ID: exchange.UUID(amount + limit), Coin: "BTC", Amount: btc(amount), Limit: eur(limit), CreatedAt: f.clock.Now()}
	o.Deadline, _ = f.exchange.Window(o.CreatedAt)
	return o
}

// minor returns a number of units with a number of decimals as an amount.
func minor(units uint64, c money.Currency, decimals int32) money.Amount {
	a := money.FromMinor(new(big.Int).SetUint64(units), money.Currency{Code: c.Code, Decimals: decimals})
	return money.RoundDown(a.Rat(), c)
}
