package plan_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
)

// changed returns the golden file with the first occurrence of a text replaced.
func changed(t testing.TB, old, replacement string) []byte {
	t.Helper()
	content := string(golden(t))
	if !strings.Contains(content, old) {
		t.Fatalf("plan.json does not contain %s", old)
	}
	return []byte(strings.Replace(content, old, replacement, 1))
}

func TestRead_refuses_a_wrong_plan(t *testing.T) {
	t.Parallel()
	const eoa = "0x26EAaA710fDd239EA8346bF0A53B057fd460574A"
	for name, tt := range map[string]struct{ old, replacement, want string }{
		"another format":             {`"chequer-sweep-plan"`, `"chequer-sweep-signed"`, "this is a signed file: give the plan"},
		"no format":                  {`"chequer-sweep-plan"`, `"chequer"`, `format: "chequer" is not "chequer-sweep-plan"`},
		"a newer version":            {`"version":1`, `"version":2,"new":[]`, "version: 2 is newer than 1, the newest that this program reads: update the program"},
		"an older version":           {`"version":1`, `"version":0`, "version: there is no version 0"},
		"an unknown field":           {`"block"`, `"blocks":1,"block"`, `unknown field "blocks"`},
		"an unknown field of a row":  {`"way"`, `"data":"0x","way"`, `unknown field "data"`},
		"a field in another case":    {`"block"`, `"Block"`, `unknown field "Block"`},
		"a field twice":              {`"block"`, `"block":1,"block"`, "block is given twice"},
		"a field of a row twice":     {`"amount":"1"`, `"amount":"2","amount":"1"`, "rows 2.amount is given twice"},
		"a fraction of a number":     {`"chain_id":8453`, `"chain_id":8453.5`, "chain_id: a number 8453.5 cannot be here"},
		"a number as a text":         {`"amount":"1"`, `"amount":1`, "rows.amount: a number cannot be here"},
		"text after the object":      {"UTC.\"}\n", "UTC.\"} {}", "there is text after the JSON object"},
		"a file that is cut off":     {"UTC.\"}\n", "UTC.\"", "the file is empty or cut off"},
		"nesting":                    {`"block":35812345`, `"block":[[[[[[1]]]]]]`, "block 1 1 1 1 1 is nested too deep"},
		"an ID":                      {`"swp_9fK2example"`, `"../swp"`, `id: "../swp" is not the ID of a plan`},
		"a time in another zone":     {`"2026-11-28T14:00:00Z"`, `"2026-11-28T15:00:00+01:00"`, `made_at: "2026-11-28T15:00:00+01:00" is not a time such as 2026-12-05T14:00:00Z`},
		"an end before the begin":    {`"2026-12-05T14:00:00Z"`, `"2026-11-28T14:00:00Z"`, "valid_until: it is not after made_at"},
		"a validity over 30 days":    {`"2026-12-05T14:00:00Z"`, `"2026-12-28T14:00:01Z"`, "valid_until: it is more than 30 days after made_at"},
		"an unknown network":         {`"network":"base"`, `"network":"basis"`, `network: "basis" is unknown`},
		"a chain ID of another":      {`"chain_id":8453`, `"chain_id":1`, "chain_id: 1 is not the chain ID of Base, which is 8453"},
		"no block":                   {`"block":35812345,`, "", "block: it is missing"},
		"no checksum of the address": {plantest.To, strings.ToLower(plantest.To), `to: "0x7a250d5630b4cf539739df2c5dacb4c659f2488d": it has no checksum: its letters must be written in the case of EIP-55`},
		"a mistyped address":         {plantest.To, strings.Replace(plantest.To, "488D", "489D", 1), `to: "0x7a250d5630B4cF539739dF2C5dAcb4c659F2489D": its capital letters do not match, so a character is mistyped`},
		"the zero address":           {plantest.To, "0x" + strings.Repeat("0", 40), "to: the address is zero"},
		"a precompile":               {plantest.To, "0x" + strings.Repeat("0", 39) + "4", "to: 0x0000000000000000000000000000000000000004 is a contract of the network (a precompile)"},
		"a predeploy of Base":        {plantest.To, "0x4200000000000000000000000000000000000006", "to: 0x4200000000000000000000000000000000000006 is a contract of the network (a precompile)"},
		"Multicall3":                 {plantest.To, "0xcA11bde05977b3631167028862bE2a173976CA11", "to: 0xcA11bde05977b3631167028862bE2a173976CA11 is the contract Multicall3"},
		"a destination of a row":     {plantest.To, "0x12629f107e5a98bD836Ee3AB4739277c2588C3E4", "row 5: from: it is the destination of the plan"},
		"a token as destination":     {plantest.To, "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42", "row 1: contract: it is the destination of the plan"},
		"an account":                 {`"account":"m/44'/60'/1'"`, `"account":"44/60/1"`, "account: not a derivation path such as m/44'/60'/0'/0/0"},
		"another account":            {`"account":"m/44'/60'/1'"`, `"account":"m/44'/60'/2'"`, "row 1: path: it is not two steps below the account m/44'/60'/2'"},
		"no account":                 {`"account":"m/44'/60'/1'"`, `"account":""`, "row 1: path: the plan names no account, so it must begin with …"},
		"a hardened step":            {`/0/0","from"`, `/0/0'","from"`, "row 1: path: a step below the account is hardened"},
		"a path in another spelling": {`"path":"m/44'/60'/1'/0/0"`, `"path":"m/44h/60'/1'/0/0"`, "row 1: path: it must be written m/44'/60'/1'/0/0"},
		"a number of a row":          {`"n":2`, `"n":3`, "row 2: n: 3 is not the number of the row"},
		"an unknown way":             {`"way":"authorization"`, `"way":"permit"`, `row 1: way: "permit" is neither authorization, own nor fund`},
		"an asset":                   {`"asset":"EURC-BASE"`, `"asset":"eurc"`, `row 1: asset: "eurc" is not a code`},
		"no contract":                {`"contract":"0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42",`, "", `row 1: contract: "": an Ethereum address is 0x and 40 hex digits`},
		"a name":                     {`"name":"EURC"`, `"name":"EU\u0000RC"`, `row 1: name: "EU\x00RC" is not the name of a token`},
		"a fraction of an amount":    {`"amount":"12318400000"`, `"amount":"12318.4"`, `row 1: amount: "12318.4" is not a whole number of smallest units`},
		"a negative amount":          {`"amount":"12318400000"`, `"amount":"-1"`, `row 1: amount: "-1" is not a whole number of smallest units`},
		"an exponent":                {`"amount":"12318400000"`, `"amount":"1e10"`, `row 1: amount: "1e10" is not a whole number of smallest units`},
		"a leading zero":             {`"amount":"12318400000"`, `"amount":"012318400000"`, `row 1: amount: "012318400000" is not a whole number of smallest units`},
		"an amount of zero":          {`"amount":"12318400000"`, `"amount":"0"`, "row 1: amount: it is zero"},
		"an amount above 256 bits":   {`"amount":"12318400000"`, fmt.Sprintf(`"amount":"%s"`, new(big.Int).Lsh(big.NewInt(1), 256)), "row 1: amount: the number has more than 256 bits"},
		"gas of an authorization":    {`"amount":"1"`, `"amount":"1","gas":21000`, "row 2: nonce, gas, tip, fee_cap and funding are only for rows whose address sends a transaction"},
		"a contract of the way own":  {`"way":"own"`, `"way":"own","name":"EURC"`, "row 4: contract, name, version and funding are not for the way own, which sends a coin"},
		"no nonce of the way own":    {`"nonce":0,`, "", "row 4: nonce: it is missing"},
		"too little gas":             {`"gas":21000`, `"gas":20999`, "row 4: gas: 20999 is not from 21000 to 16777216"},
		"a tip above the fee":        {`"gas":21000,"tip":"1000000"`, `"gas":21000,"tip":"12000001"`, "row 4: tip: it is above fee_cap"},
		"the same row twice":         {`"asset":"USDC-BASE","contract":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"`, `"asset":"EURC-BASE","contract":"0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"`, "row 2: it repeats row 1: EURC-BASE at 0x7db994b532805C53c29A7878a28C8d32d5AEFb89"},
		"two paths of an address":    {`"n":2,"path":"m/44'/60'/1'/0/0"`, `"n":2,"path":"m/44'/60'/1'/0/9"`, "row 2: path: 0x7db994b532805C53c29A7878a28C8d32d5AEFb89 has another path in a row before"},
		"two addresses of a path":    {`"path":"m/44'/60'/1'/0/1"`, `"path":"m/44'/60'/1'/0/0"`, "row 3: path: it belongs to 0x7db994b532805C53c29A7878a28C8d32d5AEFb89 in a row before"},
		"two contracts of an asset":  {`"amount":"12318400000"},{"n":2,"path":"m/44'/60'/1'/0/0","from":"0x7db994b532805C53c29A7878a28C8d32d5AEFb89","way":"authorization","asset":"USDC-BASE","contract":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"`, `"amount":"12318400000"},{"n":2,"path":"m/44'/60'/1'/0/7","from":"` + eoa + `","way":"authorization","asset":"EURC-BASE","contract":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"`, "row 2: contract: EURC-BASE has another contract in a row before"},
		"two assets of a contract":   {`"asset":"USDC-BASE","contract":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"`, `"asset":"USDC-BASE","contract":"0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"`, "row 2: asset: the contract belongs to EURC-BASE in a row before"},
		"a payer without rows":       {`{"rows":3,"gas":300000},`, "", "payer: the transactions do not carry the 4 rows of the way authorization"},
		"a payer with too many rows": {`{"rows":3,"gas":300000}`, `{"rows":201,"gas":300000}`, "payer: transaction 1: rows: 201 is not from 1 to 200"},
		"a payer with too much gas":  {`{"rows":3,"gas":300000}`, `{"rows":3,"gas":16777217}`, "payer: transaction 1: gas: 16777217 is not from 21000 to 16777216"},
		"a payer that is emptied":    {`"payer":{"address":"0x8b7f313935A5F5Ca4d2df1E95E2990Aefc909Bb1"`, `"payer":{"address":"0xcEAdC11C2F0280D47bceCE13114EDD4C2fcBD2c2"`, "payer: address: row 4 sends a transaction from it"},
		"a payer without a fee":      {`"fee_cap":"12000000","transactions"`, `"fee_cap":"0","transactions"`, "payer: fee_cap: it is zero"},
		"a nonce of the last":        {`"nonce":127`, `"nonce":18446744073709551614`, "payer: nonce: it is too large"},
		"a limit of skipped amounts": {`"skip_above":"2"`, `"skip_above":"2 %"`, `skip_above: "2 %" is not a number of per cent`},
		"an unknown reason":          {`"why":"blocked"`, `"why":"ugly"`, `skipped 2: why: "ugly" is unknown`},
		"a sum unequal to the rows":  {`"amount":"12420899999"`, `"amount":"12420899998"`, "sum 1: amount: 12420899998 is not the sum of the rows of EURC-BASE, which is 12420899999"},
		"a sum twice":                {`{"asset":"USDC-BASE","symbol":"USDC","decimals":6,"amount":"1"}`, `{"asset":"EURC-BASE","symbol":"EURC","decimals":6,"amount":"12420899999"}`, `sum 2: asset: "EURC-BASE" has no row or is given twice`},
		"a missing sum":              {`{"asset":"USDC-BASE","symbol":"USDC","decimals":6,"amount":"1"},`, "", "sum: USDC-BASE is missing"},
		"decimals of the coin":       {`"symbol":"ETH","decimals":18`, `"symbol":"ETH","decimals":17`, "sum 3: the coin of Base is ETH with 18 decimals"},
		"a symbol":                   {`"symbol":"EURC"`, `"symbol":"EU RC"`, `sum 1: symbol: "EU RC" is not a symbol`},
		"a fee below the limits":     {`"fee_max":{"amount":"100000000000000"`, `"fee_max":{"amount":"5387999999999"`, "fee_max: amount: 5387999999999 is less than the 5388000000000 that the transactions may cost"},
		"a fee with one decimal":     {`"eur":"0.31"`, `"eur":"0.3"`, `fee_max: eur: "0.3" is not an amount of euro such as 0.31`},
		"a text of another plan":     {`"text":"4 addresses`, `"text":"5 addresses`, "text: it is not the summary of the plan"},
		"a destination of the text":  {`EURC, 0.000001 USDC and 0.017 ETH on Base to 0x7a`, `EURC, 0.000001 USDC and 0.017 ETH on Base to 0x7b`, "text: it is not the summary of the plan"},
		"characters of a terminal":   {`"network":"base"`, `"network":"\u001b[2J"`, `network: "\x1b[2J" is unknown`},
		"no rows":                    {`"rows":[{"n":1`, `"rows":[],"x":[{"n":1`, `unknown field "x"`},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			_, err := plan.Read(changed(t, tt.old, tt.replacement))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestRead_refuses_a_wrong_plan_with_funded_rows(t *testing.T) {
	t.Parallel()
	funded := string(plantest.Encoded(t, plantest.Funded(plantest.MadeAt)).Bytes())
	payer := funded[strings.Index(funded, `"payer":{`):strings.Index(funded, `,"rows"`)]
	for name, tt := range map[string]struct{ old, replacement, want string }{
		"no payer":                   {payer, `"payer":null`, "payer: it is missing, and row 1 is funded"},
		"no funding":                 {`,"funding":"720000000000"`, "", `row 1: funding: "" is not a whole number of smallest units`},
		"a negative funding":         {`"funding":"720000000000"`, `"funding":"-1"`, `row 1: funding: "-1" is not a whole number of smallest units`},
		"a name":                     {`"way":"fund"`, `"way":"fund","name":"Tether USD"`, "row 1: name and version are only for the way authorization"},
		"no contract":                {`"contract":"0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA",`, "", `row 1: contract: "": an Ethereum address is 0x and 40 hex digits`},
		"no nonce":                   {`"nonce":0,`, "", "row 1: nonce: it is missing"},
		"no gas of the payer":        {`"fund_gas":21000,`, "", "payer: fund_gas: gas: 0 is not from 21000 to 16777216"},
		"too little gas":             {`"fund_gas":21000`, `"fund_gas":20999`, "payer: fund_gas: gas: 20999 is not from 21000 to 16777216"},
		"the payer as a row":         {`"address":"0x8b7f313935A5F5Ca4d2df1E95E2990Aefc909Bb1"`, `"address":"0x7db994b532805C53c29A7878a28C8d32d5AEFb89"`, "payer: address: row 1 sends a transaction from it"},
		"more funding than the fee":  {`"funding":"720000000000"`, `"funding":"720000000000000"`, "fee_max: amount: 100000000000000 is less than the"},
		"two transactions":           {`"n":2,"path":"m/44'/60'/1'/0/1","from":"0x86b187E09FE20A554A13FbcDc61482Ed2e703d01"`, `"n":2,"path":"m/44'/60'/1'/0/0","from":"0x7db994b532805C53c29A7878a28C8d32d5AEFb89"`, "row 2: way: 0x7db994b532805C53c29A7878a28C8d32d5AEFb89 sends the transaction of row 1"},
		"a text without the funding": {`The payer first sends`, `The payer then sends`, "text: it is not the summary of the plan"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(funded, tt.old) {
				t.Fatalf("the plan does not contain %s: %s", tt.old, funded)
			}
			_, err := plan.Read([]byte(strings.Replace(funded, tt.old, tt.replacement, 1)))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestRead_refuses_other_files(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ content, want string }{
		"an empty file":  {"", "the file is empty or cut off"},
		"a list":         {"[]", "the file is not a JSON object"},
		"an object":      {"{}", `format: "" is not "chequer-sweep-plan"`},
		"a large file":   {strings.Repeat(" ", 1<<20+1), "the file is larger than 1048576 bytes"},
		"an image":       {"\x89PNG\r\n", "not JSON: invalid character"},
		"nothing inside": {`{"format":"chequer-sweep-plan","version":1}`, `id: "" is not the ID of a plan`},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			if _, err := plan.Read([]byte(tt.content)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestRead_refuses_more_than_1000_rows(t *testing.T) {
	t.Parallel()
	p := plantest.Tokens(plantest.MadeAt)
	row := p.Rows[0]
	p.Rows, p.Sums = nil, p.Sums[:1]
	for i := range plan.MaxRows {
		row.Steps[1] = uint32(i)
		row.From[0], row.From[1] = byte(i>>8), byte(i)
		p.Rows = append(p.Rows, row)
	}
	full := plantest.Encoded(t, p)
	if got, want := len(full.Rows), plan.MaxRows; got != want {
		t.Errorf("the plan has %d rows, want %d", got, want)
	}
	if size := len(full.Bytes()) / plan.MaxRows; size > 260 {
		t.Errorf("a row has %d bytes", size)
	}
	row.Steps[1], row.From[0] = plan.MaxRows, 0xff
	p.Rows = append(p.Rows, row)
	if _, err := plan.Encode(p); err == nil || !strings.Contains(err.Error(), "rows: there are 1001, more than 1000") {
		t.Errorf("error = %v, want one about 1001 rows", err)
	}
}

// A plan of a chain key, whose path the public key does not show.
func TestRead_accepts_a_plan_without_account(t *testing.T) {
	t.Parallel()
	p := plantest.Tokens(plantest.MadeAt)
	p.Account = nil
	content := plantest.Encoded(t, p).Bytes()
	if !strings.Contains(string(content), `"path":"…/0/1"`) {
		t.Errorf("the plan has no path …/0/1: %s", content)
	}
	read, err := plan.Read(content)
	if err != nil || read.Rows[2].Steps != [2]uint32{0, 1} {
		t.Errorf("row 3 = %+v, %v", read.Rows[2], err)
	}
}

func TestEncode_names_what_is_wrong(t *testing.T) {
	t.Parallel()
	p := plantest.Tokens(plantest.MadeAt)
	p.Sums = append(p.Sums, plan.Sum{Asset: "ETH-BASE", Symbol: "ETH", Decimals: 18})
	if _, err := plan.Encode(p); err == nil || !strings.Contains(err.Error(), `sum 3: no row has the asset "ETH-BASE"`) {
		t.Errorf("error = %v, want one about the sum of ETH-BASE", err)
	}
}

// FuzzRead checks that a plan that is accepted is valid JSON, keeps its bytes, and is accepted again when it is
// encoded.
func FuzzRead(f *testing.F) {
	f.Add(golden(f))
	f.Add(plantest.Encoded(f, plantest.Tokens(plantest.MadeAt)).Bytes())
	f.Add(plantest.Encoded(f, plantest.Funded(plantest.MadeAt)).Bytes())
	f.Add([]byte(`{"format":"chequer-sweep-plan","version":1,"rows":[{"n":1}]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := plan.Read(content)
		if err != nil {
			return
		}
		if !json.Valid(content) || string(p.Bytes()) != string(content) {
			t.Error("an accepted plan is not JSON, or has other bytes")
		}
		again, err := plan.Encode(p)
		if err != nil {
			t.Fatalf("encode an accepted plan: %v", err)
		}
		if again.Text() != p.Text() || len(again.Rows) != len(p.Rows) {
			t.Errorf("the plan is %q after encoding, was %q", again.Text(), p.Text())
		}
	})
}
