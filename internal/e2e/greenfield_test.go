package e2e_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/merchant"
	"chequer/internal/programtest"
	"chequer/internal/storage/storagetest"
)

// newPluginToken returns the token of a new key of a plug-in for the test invoices of the first shop of a running
// program.
func newPluginToken(t *testing.T, c config.Config, plugin string) string {
	t.Helper()
	core, err := app.OpenCore(t.Context(), c, app.Options{Existing: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	shops, err := core.Merchants.Shops(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := merchant.FindPlugin(plugin)
	if err != nil {
		t.Fatal(err)
	}
	_, token, err := core.Merchants.CreatePluginKey(t.Context(), shops[0].ID, merchant.PluginKey{Plugin: p.Name, Mode: merchant.Test, Scopes: p.Scopes})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// pluginReceiver receives the messages to a plug-in with a secret, as pairs of an invoice and a type. The test fails if a
// signature is wrong.
func pluginReceiver(t *testing.T, secret string) (address string, messages <-chan [2]string) {
	t.Helper()
	received := make(chan [2]string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		if got := r.Header.Get("BTCPay-Sig"); got != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
			t.Errorf("wrong signature %q", got)
		}
		var m struct{ Type, InvoiceID string }
		if err := json.Unmarshal(body, &m); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		received <- [2]string{m.InvoiceID, m.Type}
	}))
	t.Cleanup(server.Close)
	return server.URL, received
}

// The published client of BTCPay Server's API sells with the whole program, on both engines.
func TestGreenfield_client(t *testing.T) {
	for name, newDatabase := range map[string]func(testing.TB) string{"sqlite": storagetest.File, "postgres": storagetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			programtest.RequireProgram(t, "node")
			modules := filepath.Join(filepath.Dir(filepath.Dir(programtest.Fetched("greenfield"))), "greenfield", "node_modules")
			if _, err := os.Stat(filepath.Join(filepath.Dir(modules), "complete")); err != nil {
				programtest.SkipUnlessCI(t, "btcpay-greenfield-node-client is not installed (internal/e2e/fetch.sh): %v", err)
			}
			c := settings(t, allowLoopback, "CHEQUER_DATABASE_URL="+newDatabase(t))
			p := start(t, c, app.Options{Demo: true})
			receiver, messages := pluginReceiver(t, "a secret of the shop")
			command := exec.CommandContext(t.Context(), "node", "testdata/greenfield/life.cjs")
			command.Env = append(os.Environ(), "NODE_PATH="+modules, "SERVER="+p.url, "TOKEN="+newPluginToken(t, c, "medusa"), "RECEIVER="+receiver, "SECRET=a secret of the shop")
			command.Stderr = os.Stderr
			input, err := command.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			output, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			want := []string{
				"connected test-m_first true", "server 2.0.0+chequer.1 true", "stores 1 true", "webhook true 1", "created 12.50 4711 true true",
				"part New PaidPartial", "seen Processing None", "paid Settled None", "methods 1 BTC 2 Settled+Settled", "over Settled PaidOver",
				"late Expired PaidLate", "declined Invalid Marked", "changed x", "listed 3", "foreign 403 missing-permission", "unknown 404 invoice-not-found",
			}
			lines := bufio.NewScanner(output)
			var got []string
			for len(got) < len(want) && lines.Scan() {
				got = append(got, lines.Text())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// Every message arrives once. That about the part arrives with the one that completes the price.
			wantTypes := []string{
				"InvoiceCreated", "InvoiceReceivedPayment", "InvoiceReceivedPayment", "InvoiceProcessing", "InvoicePaymentSettled", "InvoicePaymentSettled", "InvoiceSettled",
				"InvoiceCreated", "InvoiceReceivedPayment", "InvoiceProcessing", "InvoicePaymentSettled", "InvoiceSettled",
				"InvoiceCreated", "InvoiceExpired", "InvoiceReceivedPayment", "InvoicePaymentSettled",
				"InvoiceCreated", "InvoiceInvalid",
			}
			var types []string
			for len(types) < len(wantTypes) {
				select {
				case m := <-messages:
					types = append(types, m[1])
				case <-time.After(20 * time.Second):
					t.Fatalf("received %q, want %d messages", types, len(wantTypes))
				}
			}
			slices.Sort(types)
			slices.Sort(wantTypes)
			if diff := cmp.Diff(wantTypes, types); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if err := input.Close(); err != nil {
				t.Fatal(err)
			}
			if lines.Scan(); lines.Text() != "uninstalled 0" {
				t.Errorf("got %q", lines.Text())
			}
			if err := command.Wait(); err != nil {
				t.Errorf("client: %v", err)
			}
			if len(messages) > 0 {
				t.Errorf("%d messages arrived twice", len(messages))
			}
		})
	}
}
