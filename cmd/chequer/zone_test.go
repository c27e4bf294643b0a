package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
)

// TestPrintedTimes_are_in_the_zone_of_the_shop prints times within lists and sentences.
func TestPrintedTimes_are_in_the_zone_of_the_shop(t *testing.T) {
	t.Parallel()
	s := &shell{}
	s.SetZone(time.FixedZone("", 5*60*60+45*60))
	const utc, local = "2026-11-27T20:15:32Z", "2026-11-28T02:00:32+05:45"
	sale := saleRow{Coin: "BTC", Orders: []saleOrderRow{{ID: "1", SentAt: utc}}}
	invoice := api.Resource{ForeignID: "1"}
	invoice.Accepted.At = utc
	for name, write := range map[string]func(io.Writer){
		"order of a sale":  func(w io.Writer) { s.writeSaleOrders(w, []saleRow{sale}) },
		"accepted invoice": func(w io.Writer) { s.writeInvoice(w, invoice) },
	} {
		var out bytes.Buffer
		write(&out)
		if got := out.String(); !strings.Contains(got, local) || strings.Contains(got, utc) {
			t.Errorf("%s: got %q, want the time %s", name, got, local)
		}
	}
}
