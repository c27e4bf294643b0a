package e2e_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/app"
	"chequer/internal/programtest"
	"chequer/internal/storage/storagetest"
)

// connectPlugin returns a key for the test invoices of the first shop, which a plug-in gets by the page of the desk, on a
// screen.
func connectPlugin(t *testing.T, p *program, s screen) string {
	t.Helper()
	link, err := p.app.DeskLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	owner, shop, tab := newDeskClient(t, link.URL, "Maren"), newWebShop(t, p.url), openAlone(t, s)
	shop.server = owner.url
	tab.signInAs(owner)
	tab.visit(shop.connectURL(wooPermissions))
	return shop.connectIn(tab, wooPermissions)
}

// pluginReceiver receives the messages to a plug-in with a secret, as their types. The test fails if a signature is
// wrong.
func pluginReceiver(t *testing.T, secret string) (address string, types <-chan string) {
	t.Helper()
	received := make(chan string, 100)
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
		var m struct{ Type string }
		if err := json.Unmarshal(body, &m); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		received <- m.Type
	}))
	t.Cleanup(server.Close)
	return server.URL, received
}

// pluginClient is a program that sells as a shop does, with its environment.
type pluginClient struct {
	program, script string
	environment     []string
}

// nodeClient returns the program that uses the published client of BTCPay Server's API.
func nodeClient(t *testing.T) pluginClient {
	t.Helper()
	programtest.RequireProgram(t, "node")
	folder := filepath.Join(filepath.Dir(filepath.Dir(programtest.FetchedPath("greenfield"))), "greenfield")
	if _, err := os.Stat(filepath.Join(folder, "complete")); err != nil {
		programtest.SkipUnlessCI(t, "btcpay-greenfield-node-client is not installed (internal/e2e/fetch.sh): %v", err)
	}
	return pluginClient{"node", "testdata/greenfield/life.cjs", []string{"NODE_PATH=" + filepath.Join(folder, "node_modules")}}
}

// phpClient returns the program in the manner of the PHP library of BTCPay Server's API.
func phpClient(t *testing.T) pluginClient {
	t.Helper()
	programtest.RequireProgram(t, "php")
	modules, err := exec.CommandContext(t.Context(), "php", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"curl", "bcmath", "mbstring"} {
		if !slices.Contains(strings.Fields(string(modules)), module) {
			programtest.SkipUnlessCI(t, "php-%s is not installed (internal/e2e/fetch.sh)", module)
		}
	}
	return pluginClient{program: "php", script: "testdata/greenfield/life.php"}
}

// wantLife are the lines that a pluginClient prints until it waits for the end of its input.
var wantLife = []string{
	"connected test-m_first true", "server 2.0.0+chequer.1 true", "stores 1 true", "webhook true 1", "created 12.50 4711 true true",
	"part New PaidPartial", "seen Processing None", "paid Settled None", "methods 1 BTC 2 Settled+Settled", "refund string true EUR", "over Settled PaidOver",
	"late Expired PaidLate", "declined Invalid Marked", "changed x", "listed 3", "foreign 403 missing-permission", "unknown 404 invoice-not-found",
}

// wantMessages are the types of all messages to a pluginClient. The message about a part is sent with the one about the
// payment that completes the price.
var wantMessages = []string{
	"InvoiceCreated", "InvoiceReceivedPayment", "InvoiceReceivedPayment", "InvoiceProcessing", "InvoicePaymentSettled", "InvoicePaymentSettled", "InvoiceSettled",
	"InvoiceCreated", "InvoiceReceivedPayment", "InvoiceProcessing", "InvoicePaymentSettled", "InvoiceSettled",
	"InvoiceCreated", "InvoiceExpired", "InvoiceReceivedPayment", "InvoicePaymentSettled",
	"InvoiceCreated", "InvoiceInvalid",
}

// Two clients of BTCPay Server's API sell with the whole program, on both engines: they connect by the page of the desk, with
// JavaScript on one engine and without it on the other, register a webhook, sell in every way, and disconnect. Every message
// arrives once.
func TestGreenfield_clients_connect_sell_and_disconnect(t *testing.T) {
	for name, newClient := range map[string]func(*testing.T) pluginClient{"node": nodeClient, "php": phpClient} {
		t.Run(name+" sqlite", func(t *testing.T) { sellWithPlugin(t, newClient(t), storagetest.File(t), phoneScreen) })
		t.Run(name+" postgres", func(t *testing.T) { sellWithPlugin(t, newClient(t), storagetest.Postgres(t), phoneScreenNoJS) })
	}
}

// sellWithPlugin runs a client against the whole program on a database. Its key is from a page of the desk on a screen.
func sellWithPlugin(t *testing.T, client pluginClient, database string, s screen) {
	t.Helper()
	const secret = "a secret of the shop"
	p := start(t, settings(t, allowLoopback, "CHEQUER_DATABASE_URL="+database), app.Options{Demo: true})
	receiver, messages := pluginReceiver(t, secret)
	command := exec.CommandContext(t.Context(), client.program, client.script)
	command.Env = slices.Concat(os.Environ(), client.environment, []string{
		"SERVER=" + p.url, "TOKEN=" + connectPlugin(t, p, s), "RECEIVER=" + receiver, "SECRET=" + secret,
	})
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
	lines := bufio.NewScanner(output)
	var got []string
	for len(got) < len(wantLife) && lines.Scan() {
		got = append(got, lines.Text())
	}
	if diff := cmp.Diff(wantLife, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var types []string
	for len(types) < len(wantMessages) {
		select {
		case m := <-messages:
			types = append(types, m)
		case <-time.After(20 * time.Second):
			t.Fatalf("received %q, want %d messages", types, len(wantMessages))
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(wantMessages)), slices.Sorted(slices.Values(types))); diff != "" {
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
}
