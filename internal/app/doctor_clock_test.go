package app

import (
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestSayClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		wallet string
		tip    time.Duration // relative to now
		want   string
	}{
		"recent EVM block":                        {wallet: "ETH", tip: -6 * time.Second},
		"EVM block in the future":                 {wallet: "ETH", tip: time.Minute, want: "warn network x: the newest block is 1m0s ahead of this machine's clock"},
		"old EVM block":                           {wallet: "ETH", tip: -time.Hour, want: "warn network x: the newest block is 1h0m0s old"},
		"Bitcoin block less than two hours ahead": {wallet: "BTC", tip: 90 * time.Minute},
		"Bitcoin block an hour old":               {wallet: "BTC", tip: -time.Hour},
		"Bitcoin block more than two hours ahead": {wallet: "BTC", tip: 3 * time.Hour, want: "warn network x: the newest block is 3h0m0s ahead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got findingLines
			tip := now.Add(test.tip)
			sayClock(NetworkHealth{TipTime: &tip}, test.wallet, now, "network x", got.say)
			if text := strings.Join(got, "\n"); !strings.HasPrefix(text, test.want) || test.want == "" && text != "" {
				t.Errorf("got findings %q, want %q", text, test.want)
			}
		})
	}
}

func TestUnreached(t *testing.T) {
	t.Parallel()
	missing := &url.Error{Op: "Get", URL: "https://pay.example/readyz?challenge=abc", Err: &net.DNSError{Err: "no such host", Name: "pay.example", IsNotFound: true}}
	if level, says := unreached(missing); level != LevelFail || !strings.Contains(says, "DNS record for pay.example") {
		t.Errorf("missing name: got %s %s", level, says)
	}
	refused := &url.Error{Op: "Get", URL: "https://pay.example/readyz?challenge=abc", Err: &net.OpError{Op: "dial", Err: net.ErrClosed}}
	if level, says := unreached(refused); level != LevelWarn || strings.Contains(says, "abc") {
		t.Errorf("refused: %s %s", level, says)
	}
}
