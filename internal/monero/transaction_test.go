package monero

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// read returns a file as text.
func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The files testdata/transaction_regtest.json and block_regtest.json are texts of monerod 0.18.0.0.
const (
	transactionFile = "testdata/transaction_regtest.json"
	blockFile       = "testdata/block_regtest.json"
)

func TestParseTransaction(t *testing.T) {
	t.Parallel()
	got, err := ParseTransaction([]byte(read(t, transactionFile)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Extra) != 44 || got.Extra[0] != tagKey {
		t.Errorf("extra = %x", got.Extra)
	}
	want := &Transaction{
		KeyImages: []KeyImage{
			bytes32(t, "c23e96ff62726250e4384838b99b4d3a6eb616721bb7ac62aa7aaa3339159b71"),
			bytes32(t, "bf95108ec66c032036e78ea99d8ecf3e86cd77c5d183d94aac2706e64d2fa4b0"),
		},
		Extra:     got.Extra,
		Outputs:   got.Outputs,
		encrypted: true,
	}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(Transaction{}, Output{})); diff != "" {
		t.Errorf("transaction (-want +got):\n%s", diff)
	}
	if len(got.Outputs) != 2 || got.Outputs[0].Key.String() != "bd1a996d7a229b5aad24221c4f55fdf0ad7ab09334097e652fd2244b6b63a608" || got.Outputs[0].viewTag != 0xb4 || !got.Outputs[0].hasViewTag || got.Locked() {
		t.Errorf("outputs = %+v, locked = %t", got.Outputs, got.Locked())
	}
	if s := got.KeyImages[0].String(); s != "c23e96ff62726250e4384838b99b4d3a6eb616721bb7ac62aa7aaa3339159b71" {
		t.Errorf("key image = %s", s)
	}
}

func TestParseTransaction_of_version_1(t *testing.T) {
	t.Parallel()
	const key = `"c23e96ff62726250e4384838b99b4d3a6eb616721bb7ac62aa7aaa3339159b71"`
	got, err := ParseTransaction([]byte(`{"version":1,"unlock_time":18446744073709551615,"vin":[{"key":{"amount":5,"key_offsets":[1],"k_image":` + key + `}}],"vout":[{"amount":3000000000000,"target":{"key":` + key + `}}],"extra":[255,0],"signatures":["00"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Outputs) != 1 || got.Outputs[0].amount != 3_000_000_000_000 || got.encrypted || got.Coinbase || !got.Locked() || string(got.Extra) != "\xff\x00" {
		t.Errorf("got %+v", got)
	}
}

func TestParseTransaction_refuses(t *testing.T) {
	t.Parallel()
	good := read(t, transactionFile)
	coinbase := `{"version":2,"unlock_time":1,"vin":[{"gen":{"height":1}}],"vout":[],"extra":[],"rct_signatures":{"type":0}}`
	if _, err := ParseTransaction([]byte(coinbase)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		text, old, replacement string
		want                   error
	}{
		"nothing":                        {"", "", "", ErrMalformed},
		"null":                           {"null", "", "", ErrMalformed},
		"a_list":                         {"[]", "", "", ErrMalformed},
		"bytes_after_the_end":            {good + "{}", "", "", ErrMalformed},
		"a_large_text":                   {good + strings.Repeat(" ", maxTransactionJSON), "", "", ErrMalformed},
		"no_version":                     {good, `"version"`, `"a"`, ErrMalformed},
		"version_0":                      {good, `"version": 2`, `"version": 0`, ErrMalformed},
		"version_3":                      {good, `"version": 2`, `"version": 3`, ErrNewerFormat},
		"no_unlock_time":                 {good, `"unlock_time"`, `"a"`, ErrMalformed},
		"a_negative_unlock_time":         {good, `"unlock_time": 0`, `"unlock_time": -1`, ErrMalformed},
		"an_unlock_time_of_65_bits":      {good, `"unlock_time": 0`, `"unlock_time": 18446744073709551616`, ErrMalformed},
		"no_inputs":                      {coinbase, `{"gen":{"height":1}}`, ``, ErrMalformed},
		"many_inputs":                    {coinbase, `{"gen":{"height":1}}`, strings.Repeat(`{},`, maxInputs) + `{}`, ErrMalformed},
		"many_outputs":                   {coinbase, `"vout":[]`, `"vout":[` + strings.Repeat(`{},`, maxOutputs) + `{}]`, ErrMalformed},
		"two_gen_inputs":                 {coinbase, `{"gen":{"height":1}}`, `{"gen":{"height":1}},{"gen":{"height":1}}`, ErrMalformed},
		"a_gen_and_a_key":                {good, `"vin": [`, `"vin": [{"gen":{"height":1}},`, ErrMalformed},
		"no_height":                      {coinbase, `"height":1`, ``, ErrMalformed},
		"an_unknown_input":               {coinbase, `"gen"`, `"new"`, ErrNewerFormat},
		"an_input_without_a_type":        {coinbase, `{"gen":{"height":1}}`, `{}`, ErrMalformed},
		"an_input_of_two_types":          {coinbase, `{"gen":{"height":1}}`, `{"gen":{"height":1},"key":{}}`, ErrMalformed},
		"a_null_input":                   {coinbase, `{"gen":{"height":1}}`, `null`, ErrMalformed},
		"no_key_image":                   {good, `"k_image"`, `"a"`, ErrMalformed},
		"a_null_key_image":               {good, `"c23e96ff62726250e4384838b99b4d3a6eb616721bb7ac62aa7aaa3339159b71"`, `null`, ErrMalformed},
		"a_short_key_image":              {good, `"c23e`, `"`, ErrMalformed},
		"a_long_key_image":               {good, `"c23e`, `"00c23e`, ErrMalformed},
		"an_unknown_target":              {good, `"tagged_key"`, `"carrot_v1"`, ErrNewerFormat},
		"no_target":                      {good, `"target"`, `"a"`, ErrMalformed},
		"a_target_without_a_key":         {good, `"key": "bd1a`, `"a": "bd1a`, ErrMalformed},
		"a_target_without_a_tag":         {good, `"view_tag": "b4"`, `"a": "b4"`, ErrMalformed},
		"a_view_tag_of_three_bytes":      {good, `"view_tag": "b4"`, `"view_tag": "b4b4b4"`, ErrMalformed},
		"a_view_tag_of_no_hex":           {good, `"view_tag": "b4"`, `"view_tag": "zz"`, ErrMalformed},
		"a_tagged_key_without_a_tag":     {good, `"tagged_key"`, `"key"`, ErrMalformed},
		"an_extra_of_numbers_above_255":  {coinbase, `"extra":[]`, `"extra":[256]`, ErrMalformed},
		"an_extra_of_negative_numbers":   {coinbase, `"extra":[]`, `"extra":[-1]`, ErrMalformed},
		"no_signatures":                  {coinbase, `"rct_signatures"`, `"a"`, ErrMalformed},
		"no_type_of_signatures":          {coinbase, `"type"`, `"a"`, ErrMalformed},
		"plain_amounts_without_coinbase": {good, `"type": 6`, `"type": 0`, ErrMalformed},
		"type_1":                         {good, `"type": 6`, `"type": 1`, ErrOlderFormat},
		"type_2":                         {good, `"type": 6`, `"type": 2`, ErrOlderFormat},
		"type_3":                         {good, `"type": 6`, `"type": 3`, ErrOlderFormat},
		"type_7":                         {good, `"type": 6`, `"type": 7`, ErrNewerFormat},
		"type_256":                       {good, `"type": 6`, `"type": 256`, ErrNewerFormat},
		"an_encrypted_coinbase":          {coinbase, `"type":0`, `"type":6`, ErrMalformed},
		"an_amount_too_many":             {good, `"ecdhInfo": [`, `"ecdhInfo": [{"amount":"0011223344556677"},`, ErrMalformed},
		"no_amounts":                     {good, `"ecdhInfo"`, `"a"`, ErrMalformed},
		"no_commitments":                 {good, `"outPk"`, `"a"`, ErrMalformed},
		"a_null_commitment":              {good, `"outPk": [`, `"outPk": [null,`, ErrMalformed},
		"a_long_amount":                  {good, `"ecdhInfo": [ {` + "\n" + `        "amount": "`, `"ecdhInfo": [ {"amount": "00`, ErrMalformed},
		"a_null_amount":                  {good, `"ecdhInfo": [ {` + "\n" + `        "amount": "`, `"ecdhInfo": [ {"amount": null, "b": "00`, ErrMalformed},
		"a_plain_amount":                 {good, `"vout": [ {` + "\n" + `      "amount": 0`, `"vout": [ {"amount": 1`, ErrMalformed},
	} {
		if strings.Count(tt.text, tt.old) == 0 {
			t.Errorf("%s: %q is not in the text", name, tt.old)
		}
		text := strings.Replace(tt.text, tt.old, tt.replacement, 1)
		got, err := ParseTransaction([]byte(text))
		if !errors.Is(err, tt.want) || got != nil {
			t.Errorf("%s: got %+v, %v, want %v", name, got, err, tt.want)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

// Transactions before view tags have types 4 and 5, whose amounts have the form of type 6.
func TestParseTransaction_accepts_the_types_since_2018(t *testing.T) {
	t.Parallel()
	good := read(t, transactionFile)
	for _, kind := range []string{"4", "5", "6"} {
		if _, err := ParseTransaction([]byte(strings.Replace(good, `"type": 6`, `"type": `+kind, 1))); err != nil {
			t.Errorf("type %s: %v", kind, err)
		}
	}
}

// FuzzParseTransaction checks that a transaction that is accepted can be searched, and does not contradict itself.
func FuzzParseTransaction(f *testing.F) {
	f.Add([]byte(read(f, transactionFile)))
	var list []struct{ Transaction json.RawMessage }
	readJSON(f, "testdata/transactions.json", &list)
	for _, tt := range list {
		f.Add([]byte(tt.Transaction))
	}
	w := wallet(f, primaryText, viewKeyText)
	lookup := lookupOf(w, 20)
	f.Fuzz(func(t *testing.T, text []byte) {
		parsed, err := ParseTransaction(text)
		if err != nil {
			if parsed != nil || !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrNewerFormat) && !errors.Is(err, ErrOlderFormat) {
				t.Errorf("got %+v, %v", parsed, err)
			}
			return
		}
		if parsed.Coinbase == (len(parsed.KeyImages) > 0) || parsed.Coinbase && parsed.encrypted {
			t.Errorf("got %+v", parsed)
		}
		for _, p := range w.Payments(parsed, lookup) {
			if p.Output >= len(parsed.Outputs) || p.Index > 20 {
				t.Errorf("payment %+v", p)
			}
		}
	})
}
