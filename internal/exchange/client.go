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
	"unicode/utf8"

	"chequer/internal/guard"
	"chequer/internal/money"
)

const (
	// patience is how long a call may take in all.
	patience = 10 * time.Second
	// maxBody is how much of an answer is read: more is none.
	maxBody = 1 << 20
	// maxWords is how much of an exchange's words is kept.
	maxWords = 200
	// maxDigits is how many digits an amount has before the dot: far more than any coin
	// has pieces, and so few that sums of them can be stored and read back.
	maxDigits = 15
	// maxGain is how many times its limit an order may bring: more is a lie.
	maxGain = 50
)

// Dialer connects for one kind of call; *guard.Dialer does.
type Dialer interface {
	Dial(ctx context.Context, target guard.Target, hostport string) (net.Conn, error)
}

// client calls one host and no other: it follows nobody elsewhere, upgrades to
// nothing, takes no proxy from the environment, and never sends a call twice.
type client struct {
	base string // https://host, without a path
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

// host is where calls go to, as a Host header has it.
func (c client) host() string {
	_, host, _ := strings.Cut(c.base, "://")
	return host
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// get reads what is public.
func (c client) get(ctx context.Context, path string) (reply, error) {
	return c.do(ctx, http.MethodGet, path, "", nil)
}

// do sends a call. The error is ErrUnreachable whatever happened: nobody knows
// whether the other side heard of it.
func (c client) do(ctx context.Context, method, path, form string, header http.Header) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var content io.Reader
	if form != "" {
		content = strings.NewReader(form)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return reply{}, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("User-Agent", "chequer")
	r.GetBody = nil // a call is sent once
	answer, err := c.http.RoundTrip(r)
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", ErrUnreachable, withoutURL(err))
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	switch {
	case err != nil:
		return reply{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	case len(body) > maxBody:
		return reply{}, fmt.Errorf("%w of at most %d bytes", ErrUnreachable, maxBody)
	case answer.StatusCode < 200 || answer.StatusCode >= 300 && answer.StatusCode < 400:
		return reply{}, fmt.Errorf("%w but status %d", ErrUnreachable, answer.StatusCode)
	}
	return reply{answer.StatusCode, answer.Header, body}, nil
}

// withoutURL is an error without the address that was called.
func withoutURL(err error) error {
	if fault, ok := errors.AsType[*url.Error](err); ok {
		return fault.Err
	}
	return err
}

// decode reads an answer; ErrUnreachable when it is not JSON of the shape.
func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w that can be read: %.80q", ErrUnreachable, body)
	}
	return nil
}

// figure reads an amount that an exchange tells, as text or as a number, in plain
// digits. ErrContradiction when it is none, negative, or more than there can be.
func figure(what string, text json.Number, c money.Currency) (money.Amount, error) {
	a, err := money.Parse(text.String(), c)
	if whole, _, _ := strings.Cut(a.String(), "."); err != nil || len(whole) > maxDigits {
		return a, fmt.Errorf("%w: %s is %.40q", ErrContradiction, what, text.String())
	}
	return a, nil
}

// Price is a limit as the market takes it: a multiple of its tick, and never below
// what was asked.
func (m Market) Price(limit money.Amount) money.Amount {
	if m.Tick.IsZero() {
		return limit
	}
	ticks := new(big.Rat).Quo(limit.Rat(), m.Tick.Rat())
	whole, rest := new(big.Int).QuoRem(ticks.Num(), ticks.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	return money.RoundUp(new(big.Rat).Mul(new(big.Rat).SetInt(whole), m.Tick.Rat()), Euro)
}

// Round is an amount as the market takes it, never above what was asked.
func (m Market) Round(amount money.Amount) money.Amount {
	return money.RoundDown(money.RoundDown(amount.Rat(), money.Currency{Code: amount.Currency().Code, Decimals: m.Lot}).Rat(), amount.Currency())
}

// check is ErrContradiction when an outcome cannot be that of an order: more sold
// than was for sale, cheaper than its limit allows, or dearer than any market.
func (o Order) check(out Outcome) error {
	if out.Sold.Cmp(o.Amount) > 0 {
		return fmt.Errorf("%w: it sold %s of an order for %s", ErrContradiction, out.Sold, o.Amount)
	}
	least := new(big.Rat).Mul(out.Sold.Rat(), o.Limit.Rat())
	// Each trade is rounded; more than a cent of it is no rounding.
	if new(big.Rat).Add(out.Euro.Rat(), big.NewRat(1, 100)).Cmp(least) < 0 {
		return fmt.Errorf("%w: it sold %s for %s EUR, below the limit of %s", ErrContradiction, out.Sold, out.Euro, o.Limit)
	}
	if most := new(big.Rat).Mul(least, big.NewRat(maxGain, 1)); out.Euro.Rat().Cmp(most.Add(most, big.NewRat(1, 100))) > 0 {
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

// words are an exchange's own, as logs and databases hold them.
func words(text string) string {
	if len(text) > maxWords {
		text = text[:maxWords]
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}
