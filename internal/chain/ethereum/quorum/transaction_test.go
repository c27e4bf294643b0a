package quorum_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/evm"
)

// Hashes of the answers of scripted endpoints.
const (
	tipHash   = "0x1111111111111111111111111111111111111111111111111111111111111111"
	otherHash = "0x2222222222222222222222222222222222222222222222222222222222222222"
	txHash    = "0x3333333333333333333333333333333333333333333333333333333333333333"
	tipHeight = 5000
)

// scriptedAt is the time of the newest block of scripted endpoints.
var scriptedAt = time.Now()

// script returns the result of a method of a scripted endpoint in JSON, or an error.
type script func(method string, params []any) (string, error)

// scripted returns the URL of an endpoint that shows one newest block, and answers other methods by a script.
func scripted(t *testing.T, answer script) string {
	t.Helper()
	head := fmt.Sprintf(`{"number":"0x%x","hash":%q,"parentHash":%q,"timestamp":"0x%x"}`, tipHeight, tipHash, otherHash, scriptedAt.Unix())
	one := func(c rpcCall) string {
		result, err := head, error(nil)
		switch c.Method {
		case "eth_chainId":
			result = `"0x2105"`
		case "eth_getBlockByNumber":
		default:
			result, err = answer(c.Method, c.Params)
		}
		if err != nil {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":%q}}`, c.ID, err)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, c.ID, result)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var raw json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
			t.Error(err)
		}
		var calls []rpcCall
		if json.Unmarshal(raw, &calls) != nil {
			var single rpcCall
			if err := json.Unmarshal(raw, &single); err != nil {
				t.Error(err)
			}
			fmt.Fprint(w, one(single))
			return
		}
		var answers []string
		for _, c := range calls {
			answers = append(answers, one(c))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(answers, ","))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// scriptedQuorum returns a quorum of scripted endpoints of different operators, and its newest block.
func scriptedQuorum(t *testing.T, answers ...script) (*quorum.Quorum, quorum.Search) {
	t.Helper()
	c := quorum.Config{
		Network: "base", ChainID: 8453, AddressQueries: true, Poll: time.Minute, Now: time.Now, Chance: func() float64 { return 0 }, Log: slog.New(slog.DiscardHandler),
	}
	for i, a := range answers {
		c.Endpoints = append(c.Endpoints, quorum.Endpoint{URL: scripted(t, a), Operator: strconv.Itoa(i)})
	}
	q, err := quorum.New(c)
	if err != nil {
		t.Fatal(err)
	}
	best, err := q.Best(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return q, quorum.Search{From: 1, To: best.Header}
}

// constant returns a script with one answer.
func constant(result string, err error) script {
	return func(string, []any) (string, error) { return result, err }
}

// receiptOf returns a receipt in JSON.
func receiptOf(block, status string) script {
	return constant(fmt.Sprintf(`{"blockHash":%q,"blockNumber":"0x10","status":%q,"logs":[]}`, block, status), nil)
}

func TestReceipts_need_two_operators_that_agree(t *testing.T) {
	t.Parallel()
	mined, failed, none := receiptOf(tipHash, "0x1"), receiptOf(tipHash, "0x0"), constant("null", nil)
	for name, tt := range map[string]struct {
		answers   []script
		want      bool
		succeeded bool
	}{
		"both":                     {[]script{mined, mined}, true, true},
		"both_failed":              {[]script{failed, failed}, true, false},
		"one_forges_the_success":   {[]script{mined, failed}, false, false},
		"one_forges_the_block":     {[]script{mined, receiptOf(otherHash, "0x1")}, false, false},
		"one_has_none":             {[]script{mined, none}, false, false},
		"two_of_three":             {[]script{failed, mined, mined}, true, true},
		"none":                     {[]script{none, none}, false, false},
		"capital_letters_are_same": {[]script{receiptOf("0x"+strings.Repeat("AB", 32), "0x1"), receiptOf("0x"+strings.Repeat("ab", 32), "0x1")}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, _ := scriptedQuorum(t, tt.answers...)
			receipts, err := q.Receipts(t.Context(), []evm.Hash{{1}})
			if err != nil {
				t.Fatal(err)
			}
			if got := receipts[0]; (got != nil) != tt.want || got != nil && (got.Succeeded != tt.succeeded || got.Height != 16) {
				t.Errorf("receipt %+v, want one: %t", got, tt.want)
			}
		})
	}
	t.Run("an_endpoint_that_does_not_answer_is_an_error", func(t *testing.T) {
		t.Parallel()
		q, _ := scriptedQuorum(t, mined, constant("", errors.New("internal error")))
		if _, err := q.Receipts(t.Context(), []evm.Hash{{1}}); err == nil {
			t.Error("no error")
		}
	})
}

func TestKnown_needs_enough_operators_for_an_unknown_transaction(t *testing.T) {
	t.Parallel()
	fails := errors.New("busy")
	answer := func(result string, err error) script {
		return func(method string, _ []any) (string, error) {
			if method != "eth_getTransactionByHash" {
				return "", fmt.Errorf("unexpected %s", method)
			}
			return result, err
		}
	}
	unknown, waiting, busy := answer("null", nil), answer(`{"hash":"`+txHash+`","blockHash":null}`, nil), answer("", fails)
	for name, tt := range map[string]struct {
		endpoints []script
		known     bool
		fails     bool
	}{
		"unknown":              {endpoints: []script{unknown, unknown, unknown}},
		"known_to_one":         {endpoints: []script{unknown, waiting, unknown}, known: true},
		"unknown_and_one_busy": {endpoints: []script{unknown, unknown, busy}},
		"one_answer":           {endpoints: []script{unknown, busy, busy}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, _ := scriptedQuorum(t, tt.endpoints...)
			known, err := q.Known(t.Context(), []evm.Hash{{1}})
			if (err != nil) != tt.fails || err == nil && known[0] != tt.known {
				t.Errorf("known %v, error %v, want %t, failure %t", known, err, tt.known, tt.fails)
			}
		})
	}
}

func TestSubmit_succeeds_when_an_endpoint_accepts_the_transaction(t *testing.T) {
	t.Parallel()
	accepts := constant(`"`+txHash+`"`, nil)
	for name, tt := range map[string]struct {
		one, two script
		want     string
	}{
		"both":           {accepts, accepts, ""},
		"one_refuses":    {constant("", errors.New("insufficient funds for gas")), accepts, ""},
		"one_has_it":     {constant("", errors.New("already known")), constant("", errors.New("nonce too low")), ""},
		"nonce_is_used":  {constant("", errors.New("nonce too low: next 3")), constant("", errors.New("busy")), quorum.ErrNonceUsed.Error()},
		"both_refuse":    {constant("", errors.New("intrinsic gas too low")), constant("", errors.New("intrinsic gas too low")), "intrinsic gas too low"},
		"blob_of_errors": {constant("", errors.New("replacement transaction underpriced")), constant("", errors.New("txpool is full")), "the endpoints refuse the transaction"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, _ := scriptedQuorum(t, tt.one, tt.two)
			err := q.Submit(t.Context(), "0x02")
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestTransactions_of_a_wide_range_are_read_in_parts(t *testing.T) {
	t.Parallel()
	var ranges []int64
	narrow := func(limit int64, logs string, note bool) script {
		return func(method string, params []any) (string, error) {
			filter := params[0].(map[string]any)
			from, _ := strconv.ParseInt(filter["fromBlock"].(string), 0, 64)
			to, _ := strconv.ParseInt(filter["toBlock"].(string), 0, 64)
			if to-from+1 > limit {
				return "", errors.New("query exceeds the range")
			}
			if note {
				ranges = append(ranges, to-from+1)
			}
			if from <= 1234 && 1234 <= to {
				return logs, nil
			}
			return "[]", nil
		}
	}
	log := `[{"transactionHash":"` + txHash + `"}]`
	q, search := scriptedQuorum(t, narrow(1000, log, true), narrow(10_000, log, false))
	found, err := q.Transactions(t.Context(), search, quorum.Filter{Topics: [][]evm.Hash{{{1}}, nil}})
	if err != nil || len(found) != 1 || found[0].String() != txHash {
		t.Errorf("found %v, error %v, want %s", found, err, txHash)
	}
	var sum int64
	for _, r := range ranges {
		sum += r
	}
	if sum != tipHeight {
		t.Errorf("parts of %v blocks were read, want all %d once", ranges, tipHeight)
	}
	q, search = scriptedQuorum(t, narrow(10_000, log, false), narrow(10_000, "[]", false))
	if found, err := q.Transactions(t.Context(), search, quorum.Filter{}); err != nil || len(found) > 0 {
		t.Errorf("found %v that one operator shows, error %v", found, err)
	}
	q, search = scriptedQuorum(t, narrow(1, log, false), narrow(1, log, false))
	if _, err := q.Transactions(t.Context(), search, quorum.Filter{}); err == nil {
		t.Error("5,000 requests were sent")
	}
}
