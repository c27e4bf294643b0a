package refundfile_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/money"
	"chequer/internal/refundfile"
)

const (
	first  = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
	second = "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"
)

// refund returns a refund in bitcoin.
func refund(id, address, amount string) refundfile.Refund {
	a := bitcoin.Mainnet.Asset
	return refundfile.Refund{ID: id, Name: "order " + id, Asset: a, Address: address, Amount: money.MustParse(amount, a.Currency), URI: "bitcoin:" + address + "?amount=" + amount}
}

var two = []refundfile.Refund{refund("ref_1", first, "0.00065379"), refund("ref_2", second, "1.5")}

func TestWrite_writes_the_format_of_each_wallet(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		format     refundfile.Format
		unit       string
		file, want string
	}{
		"Electrum in BTC": {refundfile.Electrum, "", "refunds-electrum-BTC.txt", first + ", 0.00065379\n" + second + ", 1.5\n"},
		"Electrum in sat": {refundfile.Electrum, "sat", "refunds-electrum-sat.txt", first + ", 65379\n" + second + ", 150000000\n"},
		"Sparrow in BTC":  {refundfile.Sparrow, "BTC", "refunds-sparrow-BTC.csv", "Address,Amount,Label\r\n" + first + ",0.00065379,Refund order ref_1\r\n" + second + ",1.5,Refund order ref_2\r\n"},
		"Core":            {refundfile.Core, "", "refunds-core.json", `{"` + first + `":"0.00065379",` + "\n\"" + second + `":"1.5"}` + "\n"},
		"CSV": {
			refundfile.CSV, "", "refunds-csv.csv", "refund,order,currency,network,address,amount,payment_uri\r\n" +
				"ref_1,order ref_1,BTC,Bitcoin," + first + ",0.00065379,bitcoin:" + first + "?amount=0.00065379\r\n" +
				"ref_2,order ref_2,BTC,Bitcoin," + second + ",1.5,bitcoin:" + second + "?amount=1.5\r\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := refundfile.Write(tt.format, tt.unit, two)
			if err != nil {
				t.Fatal(err)
			}
			if len(files) != 1 || files[0].Name != tt.file || files[0].Sum.String() != "1.50065379" {
				t.Fatalf("got %d files, the first is %s with the sum %s", len(files), files[0].Name, files[0].Sum)
			}
			if diff := cmp.Diff(tt.want, string(files[0].Content)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrite_refuses_what_a_wallet_cannot_pay(t *testing.T) {
	t.Parallel()
	lightning := refund("ref_l", "someone@example.org", "0.001")
	lightning.Asset.Scheme, lightning.Asset.Code = chain.SchemeLightning, "BTC-LN"
	litecoin := refund("ref_ltc", "LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1", "1")
	litecoin.Asset = bitcoin.Litecoin.Asset
	litecoin.Amount = money.MustParse("1", litecoin.Asset.Currency)
	token := refund("ref_t", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "1")
	token.Asset.Scheme, token.Asset.Code = "ethereum", "EURC-BASE"
	for name, tt := range map[string]struct {
		format  refundfile.Format
		unit    string
		refunds []refundfile.Refund
		want    string
	}{
		"none":            {refundfile.CSV, "", nil, "no refund"},
		"Lightning":       {refundfile.Core, "", []refundfile.Refund{lightning}, "ref_l is paid over Lightning"},
		"token":           {refundfile.Electrum, "", []refundfile.Refund{token}, "electrum cannot pay refund ref_t in EURC-BASE"},
		"Litecoin":        {refundfile.Sparrow, "", []refundfile.Refund{litecoin}, "sparrow cannot pay refund ref_ltc in LTC"},
		"two networks":    {refundfile.Core, "", []refundfile.Refund{two[0], litecoin}, "the refunds are in bitcoin, litecoin"},
		"unit of another": {refundfile.Electrum, "mBTC", two, `is BTC or sat, not "mBTC"`},
		"satoshis":        {refundfile.Core, "sat", two, "core: the file has amounts in coins only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := refundfile.Write(tt.format, tt.unit, tt.refunds)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Write() = %d files, %v, want an error with %q", len(files), err, tt.want)
			}
		})
	}
}

func TestWrite_divides_refunds_among_files(t *testing.T) {
	t.Parallel()
	many := make([]refundfile.Refund, 2*refundfile.MaxRefunds+1)
	for i := range many {
		many[i] = refund(fmt.Sprint("ref_", i), first, "0.001")
	}
	for format, want := range map[refundfile.Format][]int{
		refundfile.Electrum: {refundfile.MaxRefunds, refundfile.MaxRefunds, 1}, // an address may be repeated
		refundfile.CSV:      {refundfile.MaxRefunds, refundfile.MaxRefunds, 1},
	} {
		files, err := refundfile.Write(format, "", many)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		names := map[string]bool{}
		for _, f := range files {
			got, names[f.Name] = append(got, len(f.Refunds)), true
		}
		if diff := cmp.Diff(want, got); diff != "" || len(names) != len(files) {
			t.Errorf("%s: %d names (-want +got):\n%s", format, len(names), diff)
		}
	}
	files, err := refundfile.Write(refundfile.Core, "", []refundfile.Refund{two[0], two[1], two[0]})
	if err != nil || len(files) != 2 || len(files[0].Refunds) != 2 || len(files[1].Refunds) != 1 {
		t.Errorf("Core with an address twice: %+v, %v", files, err)
	}
}

func TestWrite_quotes_formulas(t *testing.T) {
	t.Parallel()
	r := two[0]
	r.Name = "=HYPERLINK(1)"
	files, err := refundfile.Write(refundfile.CSV, "", []refundfile.Refund{r})
	if err != nil || !strings.Contains(string(files[0].Content), ",'=HYPERLINK(1),") {
		t.Errorf("%s, %v", files[0].Content, err)
	}
}

// The node has the argument parser of Bitcoin Core, of which its software is a fork.
func TestWrite_for_Core_is_read_by_a_node(t *testing.T) {
	t.Parallel()
	n := bitcointest.Litecoind(t)
	pay := func(address, amount string) refundfile.Refund {
		a := n.Asset()
		return refundfile.Refund{ID: amount, Asset: a, Address: address, Amount: money.MustParse(amount, a.Currency)}
	}
	program, err := bech32.ConvertBits(make([]byte, 20), 8, 5, true)
	if err != nil {
		t.Fatal(err)
	}
	witness, err := bech32.Encode("rltc", append([]byte{0}, program...))
	if err != nil {
		t.Fatal(err)
	}
	refunds := []refundfile.Refund{pay(witness, "0.00065379"), pay("mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", "20999999.99999999")}
	files, err := refundfile.Write(refundfile.Core, "", refunds)
	if err != nil {
		t.Fatal(err)
	}
	var transaction string
	n.Call(t, &transaction, "createrawtransaction", []any{}, json.RawMessage(files[0].Content))
	var decoded struct {
		Vout []struct {
			Value        json.Number
			ScriptPubKey struct{ Addresses []string }
		}
	}
	n.Call(t, &decoded, "decoderawtransaction", transaction)
	if len(decoded.Vout) != len(refunds) {
		t.Fatalf("the node reads %d outputs, want %d", len(decoded.Vout), len(refunds))
	}
	for i, out := range decoded.Vout {
		if out.Value.String() != refunds[i].Amount.String() || out.ScriptPubKey.Addresses[0] != refunds[i].Address {
			t.Errorf("output %d: %+v, want %+v", i, out, refunds[i])
		}
	}
}
