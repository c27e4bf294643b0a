package doctor

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/config"
	"chequer/internal/rates"
)

func TestExamineFiats_reports_currencies_without_a_price(t *testing.T) {
	t.Parallel()
	report := rates.Report{Pairs: []rates.PairReport{
		{Pair: "EUR-CHF", Price: "0.95"}, {Pair: "EUR-GBP", Fault: "no usable quotation"}, {Pair: "EUR-SEK", Price: "11"},
	}}
	e := &examination{Config: Config{Settings: config.Config{Fiat: "CHF,GBP,JPY,USD"}}}
	e.examineFiats(report)
	want := []string{
		"ok currency CHF: a euro is 0.95 CHF",
		"fail currency GBP: no invoice can be created in it: the European Central Bank's table has no price of the last 5 days",
		"fail currency JPY: no invoice can be created in it: the European Central Bank's table has no price of the last 5 days",
	}
	if diff := cmp.Diff(want, e.lines()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
