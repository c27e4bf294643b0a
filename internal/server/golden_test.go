package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// goldenText formats an answer: its status, every header, and the unchanged body.
func goldenText(t *testing.T, name string, r *http.Response) string {
	t.Helper()
	headers := map[string]string{}
	for name, values := range r.Header {
		headers[name] = strings.Join(values, " | ")
	}
	text, err := json.Marshal(headers)
	if err != nil {
		t.Fatal(err)
	}
	body := read(t, r)
	if body == "" {
		body = "null"
	}
	return fmt.Sprintf(`{"answer":%q,"status":%d,"headers":%s,"body":%s}`, name, r.StatusCode, text, body)
}

// stateActions are the actions that lead to each state.
var stateActions = map[string][]string{
	"created":  {},
	"pending":  {"exact"},
	"paid":     {"exact", "confirm"},
	"expired":  {"expire"},
	"late":     {"expire", "exact"},
	"declined": {"cancel"},
}

// The answers about an invoice in each state equal the recorded answers.
func TestGolden_every_state(t *testing.T) {
	t.Parallel()
	for state, actions := range stateActions {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			now := noon
			f := newFixture(t, func() time.Time { return now })
			m := keyedMessage("order-1042", `{"amount":56.50,"fiat_currency":"EUR","order_id":"1042"}`)
			answers := []string{goldenText(t, "create", f.send(m))}
			id := "inv00000000000000000000000000001"
			path := "/api/v2/invoices/" + id
			for _, action := range actions {
				now = now.Add(61 * time.Second)
				switch action {
				case "expire":
					now = noon.Add(16 * time.Minute)
					f.expire(t)
				case "cancel":
					if _, err := f.invoices.Cancel(t.Context(), id, 0); err != nil {
						t.Fatal(err)
					}
				default:
					answers = append(answers, goldenText(t, action, f.send(message{
						method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "all", signRequest: true, body: `{"action":"` + action + `"}`,
					})))
				}
			}
			status := f.send(message{method: "GET", target: "/api/v2/invoice/status?id=" + id})
			tag := status.Header.Get("Etag")
			answers = append(answers,
				goldenText(t, "status", status),
				goldenText(t, "resource", f.send(message{method: "GET", target: path, key: "read", signRequest: true})),
				goldenText(t, "resource, not modified", f.send(message{method: "GET", target: path, key: "read", signRequest: true, header: conditional(tag, "")})),
				goldenText(t, "create, repeated", f.send(m)),
			)
			golden(t, "state_"+state+".json", "["+strings.Join(answers, ",")+"]")
		})
	}
}

// expire adds a block after the end of the quote and expires the invoice.
func (f *fixture) expire(t *testing.T) {
	t.Helper()
	if err := f.simnet.Confirm(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n, err := f.invoices.Expire(t.Context(), 10); n != 1 || err != nil {
		t.Fatalf("Expire() = %d, %v", n, err)
	}
}

// simulate simulates an action on a new invoice of a key.
func (f *fixture) simulate(key, action string) *http.Response {
	f.send(creation(message{key: key}))
	return f.send(message{
		method: "POST", target: "/api/v2/test/invoices/inv00000000000000000000000000001/simulate", key: "page", signRequest: true,
		body: `{"action":"` + action + `"}`,
	})
}

// Each error answer equals the recorded answer.
func TestGolden_every_error(t *testing.T) {
	t.Parallel()
	var answers []string
	for _, m := range mistakes {
		response := m.send(newFixture(t, nil))
		if response.StatusCode < 400 {
			t.Errorf("%s: answer %d: %s", m.name, response.StatusCode, read(t, response))
			continue
		}
		if retry := response.Header.Get("Retry-After"); retry == "" && (response.StatusCode == 503 || response.StatusCode == 429) {
			t.Errorf("%s: no Retry-After", m.name)
		}
		answers = append(answers, goldenText(t, m.name, response))
	}
	all := "[" + strings.Join(answers, ",") + "]"
	if strings.Contains(strings.ToLower(all), "expired_at") {
		t.Error("an error contains the text expired_at")
	}
	golden(t, "errors.json", all)
}

// Every error code that is written out in the source has an answer in errors.json.
func TestGolden_has_every_error(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(filepath.Join("testdata", "errors.json"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`(?:code: |badRequest\()"([a-z_]*[a-z])"`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, found := range codes.FindAllSubmatch(source, -1) {
			if !bytes.Contains(want, []byte(`"X-Error-Code": "`+string(found[1])+`"`)) {
				t.Errorf("%s: errors.json has no answer with the code %s", file, found[1])
			}
		}
	}
}
