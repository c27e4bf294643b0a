package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/money"
)

func TestLiteral_quotes_text_that_spreadsheets_would_convert(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "",
		"1042":                 "1042",
		"12345678901":          "12345678901",
		"123456789012":         "'123456789012",
		"12345678901234567890": "'12345678901234567890",
		"0":                    "0",
		"00042":                "'00042",
		"12E4":                 "'12E4",
		"1.5e+3":               "'1.5e+3",
		"A-0042":               "A-0042",
		"3-4":                  "'3-4", // 3 April
		"1/2":                  "'1/2",
		"1.5":                  "'1.5", // 1 May where decimals have a comma
		"01.12":                "'01.12",
		"10-2026":              "'10-2026",
		"2026-10":              "'2026-10",
		"2026-01-02":           "'2026-01-02",
		"24.12.2026":           "'24.12.2026",
		"12:30":                "'12:30",
		"12:30:05":             "'12:30:05",
		"2026-1042":            "2026-1042",
		"1042-2":               "1042-2",
		"100-20-3":             "100-20-3",
		"192.168.1.10":         "192.168.1.10",
		"0.5":                  "0.5",
	} {
		if got := literal(text); got != want {
			t.Errorf("literal(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCSV_follows_the_style(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	vienna := CSVStyle{Delimiter: "semicolon", Decimal: "comma", BOM: "true", Zone: zone}
	coins := func(text string) money.Amount { return money.MustParse(text, money.BTC) }
	euro := func(text string) money.Amount { return money.MustParse(text, invoice.SaleEuro) }
	price, paidAt := money.FromCents(5650, money.EUR), time.Date(2026, 7, 1, 22, 0, 0, 0, time.UTC)
	line := invoice.ExportLine{
		Summary: invoice.Summary{
			CreatedAt: time.Date(2026, 11, 27, 23, 30, 0, 123e6, time.UTC), ID: "f", Mode: invoice.Live,
			OrderID: "12345678901234567890", Description: "Chair; oak", Status: invoice.Paid,
			Price: price, Paid: price, Due: money.Zero(money.EUR), Overpaid: money.Zero(money.EUR),
			PaidAt: paidAt, PaidAsset: "BTC", Received: []invoice.Received{{Asset: "BTC", Amount: coins("0.0006"), State: invoice.PaymentConfirmed}}, PaidCount: 1,
		},
		Tolerance: money.FromCents(10, money.EUR), FirstPaidAt: paidAt, PaidTx: "ab",
		Sales: []invoice.Sale{{Coin: "BTC", Amount: coins("0.0006"), Orders: []invoice.SaleOrder{{Sold: coins("0.0006"), Euro: euro("51.8521"), Fee: euro("0.2074")}}}},
	}
	for name, tt := range map[string]struct {
		style CSVStyle
		want  []string
	}{
		"for_programs": {CSVStyle{}, []string{
			strings.Join(csvColumns, ","),
			"2026-11-27T23:30:00.123Z,f,live,'12345678901234567890,Chair; oak,paid,,56.5,EUR,56.5,0,0,2026-07-01T22:00:00.000Z,BTC,ab,0.0006 BTC,,,,false,0.0006 BTC,51.8521,0.2074,86420.167,0.1,1,2026-07-01T22:00:00.000Z,,,0",
			"",
		}},
		"for_a_spreadsheet_with_decimal_commas": {vienna, []string{
			"\ufeff" + strings.Join(csvColumns, ";"),
			"2026-11-28 00:30:00;f;live;'12345678901234567890;\"Chair; oak\";paid;;56,5;EUR;56,5;0;0;2026-07-02 00:00:00;BTC;ab;0,0006 BTC;;;;false;0,0006 BTC;51,8521;0,2074;86420,167;0,1;1;2026-07-02 00:00:00;;;0",
			"",
		}},
		"with_offsets_and_the_name_of_the_zone": {CSVStyle{Zone: zone, Offsets: true, NamesZone: true}, []string{
			strings.Join(csvColumns, ",") + ",time_zone",
			"2026-11-28T00:30:00.123+01:00,f,live,'12345678901234567890,Chair; oak,paid,,56.5,EUR,56.5,0,0,2026-07-02T00:00:00.000+02:00,BTC,ab,0.0006 BTC,,,,false,0.0006 BTC,51.8521,0.2074,86420.167,0.1,1,2026-07-02T00:00:00.000+02:00,,,0,Europe/Vienna",
			"",
		}},
		"with_tabs": {CSVStyle{Delimiter: "tab"}, []string{
			strings.Join(csvColumns, "\t"),
			"2026-11-27T23:30:00.123Z\tf\tlive\t'12345678901234567890\tChair; oak\tpaid\t\t56.5\tEUR\t56.5\t0\t0\t2026-07-01T22:00:00.000Z\tBTC\tab\t0.0006 BTC\t\t\t\tfalse\t0.0006 BTC\t51.8521\t0.2074\t86420.167\t0.1\t1\t2026-07-01T22:00:00.000Z\t\t\t0",
			"",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			sheet := NewCSV(&b, tt.style)
			if err := sheet.Write(line); err != nil {
				t.Fatal(err)
			}
			if err := sheet.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(b.String(), "\r\n"), tt.want); diff != "" {
				t.Errorf("sheet (-got +want):\n%s", diff)
			}
		})
	}
}
