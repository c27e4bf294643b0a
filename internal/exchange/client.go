package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"chequer/internal/guard"
	"chequer/internal/money"
)

const (
	// callTimeout bounds the time of a call.
	callTimeout = 10 * time.Second
	// maxBody bounds the size of an answer, in bytes. A longer answer is an error.
	maxBody = 1 << 20
	// maxMessage bounds the stored length of an exchange's texts, in characters.
	maxMessage = 200
	// maxDigits bounds the digits of an amount before the decimal point, so that sums of such
	// amounts can be stored and read. No coin needs as many.
	maxDigits = 15
	// maxGain is the largest multiple of its limit that an order may yield. Higher proceeds are an
	// error of the exchange.
	maxGain = 50
)

// Dialer opens connections for calls. *guard.Dialer implements it.
type Dialer interface {
	Dial(ctx context.Context, target guard.Target, hostport string) (net.Conn, error)
}

// client calls only one host: it follows no redirects, accepts no protocol upgrades, uses no proxy
// of the environment, and never sends a call twice.
type client struct {
	base string // such as https://host, without a path
	http http.RoundTripper
}

func newClient(base string, d Dialer) client {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, hostport string) (net.Conn, error) {
			return d.Dial(ctx, guard.Target{Plain: strings.HasPrefix(base, "http:"), Live: true}, hostport)
		},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	return client{base: base, http: guard.NoUpgrade(transport)}
}

// host returns the host of calls, as in the Host header.
func (c client) host() string {
	_, host, _ := strings.Cut(c.base, "://")
	return host
}

// response is a complete answer.
type response struct {
	status int
	header http.Header
	body   []byte
}

// get makes a public call.
func (c client) get(ctx context.Context, path string) (response, error) {
	return c.do(ctx, http.MethodGet, path, "", nil)
}

// do sends a call. Every error is ErrNoAnswer, because the exchange may have received the call.
func (c client) do(ctx context.Context, method, path, form string, header http.Header) (response, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var content io.Reader
	if form != "" {
		content = strings.NewReader(form)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return response{}, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("User-Agent", "chequer")
	r.GetBody = nil // prevents a second attempt
	answer, err := c.http.RoundTrip(r)
	if err != nil {
		return response{}, fmt.Errorf("%w: %w", ErrNoAnswer, withoutURL(err))
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	switch {
	case err != nil:
		return response{}, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	case len(body) > maxBody:
		return response{}, fmt.Errorf("%w: larger than %d bytes", ErrNoAnswer, maxBody)
	case answer.StatusCode < 200 || answer.StatusCode >= 300 && answer.StatusCode < 400:
		return response{}, fmt.Errorf("%w: status %d", ErrNoAnswer, answer.StatusCode)
	}
	return response{answer.StatusCode, answer.Header, body}, nil
}

// withoutURL returns an error without the address of the call.
func withoutURL(err error) error {
	if fault, ok := errors.AsType[*url.Error](err); ok {
		return fault.Err
	}
	return err
}

// decode decodes an answer. It returns ErrNoAnswer if the answer is not JSON of the expected
// form.
func decode(body []byte, target any) error {
	if err := json.Unmarshal(body, target); err != nil {
		return fmt.Errorf("%w that can be read: %.80q", ErrNoAnswer, body)
	}
	return nil
}

// parseAmount parses an amount of an exchange, a text or a number in plain digits. It returns
// ErrContradiction if the amount is invalid, negative or impossibly large.
func parseAmount(name string, text json.Number, c money.Currency) (money.Amount, error) {
	a, err := money.Parse(text.String(), c)
	if integer, _, _ := strings.Cut(a.String(), "."); err != nil || len(integer) > maxDigits {
		return a, fmt.Errorf("%w: %s is %.40q", ErrContradiction, name, text.String())
	}
	return a, nil
}

// hasDecimals reports whether an exchange sent a number of decimals that amounts of exchanges can have; nil means that
// the number is missing.
func hasDecimals(decimals *int32) bool {
	return decimals != nil && *decimals >= 0 && *decimals <= Euro.Decimals
}

// RoundLimit rounds a limit up to a multiple of the market's tick.
func (m Market) RoundLimit(limit money.Amount) money.Amount {
	if m.Tick.IsZero() {
		return limit
	}
	ticks := new(big.Rat).Quo(limit.Rat(), m.Tick.Rat())
	quotient, remainder := new(big.Int).QuoRem(ticks.Num(), ticks.Denom(), new(big.Int))
	if remainder.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return money.RoundUp(new(big.Rat).Mul(new(big.Rat).SetInt(quotient), m.Tick.Rat()), Euro)
}

// RoundAmount rounds an amount down to the decimals of the market.
func (m Market) RoundAmount(amount money.Amount) money.Amount {
	return money.RoundDown(money.RoundDown(amount.Rat(), money.Currency{Code: amount.Currency().Code, Decimals: m.Lot}).Rat(), amount.Currency())
}

// check returns ErrContradiction if an outcome is impossible for the order: more sold than its
// amount, a price below its limit, or a price above that of any market.
func (o Order) check(out Outcome) error {
	if out.Sold.Cmp(o.Amount) > 0 {
		return fmt.Errorf("%w: it sold %s of an order for %s", ErrContradiction, out.Sold, o.Amount)
	}
	minimum := new(big.Rat).Mul(out.Sold.Rat(), o.Limit.Rat())
	cent := big.NewRat(1, 100) // each trade is rounded, but a larger difference is not caused by rounding
	if new(big.Rat).Add(out.Euro.Rat(), cent).Cmp(minimum) < 0 {
		return fmt.Errorf("%w: it sold %s for %s EUR, below the limit of %s", ErrContradiction, out.Sold, out.Euro, o.Limit)
	}
	if maximum := new(big.Rat).Mul(minimum, big.NewRat(maxGain, 1)); out.Euro.Rat().Cmp(maximum.Add(maximum, cent)) > 0 {
		return fmt.Errorf("%w: it sold %s for %s EUR, with a limit of %s", ErrContradiction, out.Sold, out.Euro, o.Limit)
	}
	if out.Fee.Cmp(out.Euro) > 0 {
		return fmt.Errorf("%w: a fee of %s EUR for a sale of %s EUR", ErrContradiction, out.Fee, out.Euro)
	}
	if out.Sold.IsZero() != out.Euro.IsZero() {
		return fmt.Errorf("%w: it sold %s for %s EUR", ErrContradiction, out.Sold, out.Euro)
	}
	return nil
}
