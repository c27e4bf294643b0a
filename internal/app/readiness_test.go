package app_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/readiness"
)

// fetch fetches a URL and returns the status and the body.
func fetch(t *testing.T, url string) (status int, body string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestReadyz_reports_how_each_network_is_watched(t *testing.T) {
	t.Parallel()
	p := demo(t, "CHEQUER_BITCOIN_NODE=http://u:hunter2@127.0.0.1:1", "CHEQUER_BITCOIN_NETWORK=regtest")
	status, text := fetch(t, p.url+"/readyz")
	var got struct {
		Ready    bool
		Networks []readiness.Network
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if status != http.StatusOK || !got.Ready || len(got.Networks) < 2 {
		t.Fatalf("answer %d: %s", status, text)
	}
	bitcoin, litecoin := got.Networks[0], got.Networks[1]
	if bitcoin.Network != "bitcoin-regtest" || !bitcoin.Watched || bitcoin.ScannedAgo != nil {
		t.Errorf("bitcoin: %+v", bitcoin)
	}
	if litecoin.Network != "litecoin" || litecoin.Watched {
		t.Errorf("litecoin: %+v", litecoin)
	}
	if strings.Contains(text, "hunter2") {
		t.Error("the answer contains the node's password")
	}
}

// Every caller gets the readiness of the program. Only the holder of the master key gets the
// addresses of its nodes.
func TestReadyz_names_the_operators_hosts_only_to_the_operator(t *testing.T) {
	t.Parallel()
	p := demo(t, "CHEQUER_BITCOIN_NODE=http://u:hunter2@127.0.0.1:1", "CHEQUER_BITCOIN_NETWORK=regtest")
	core, err := app.OpenCore(t.Context(), p.config, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	_, text := fetch(t, p.url+"/readyz")
	networks := app.QueryServer(t.Context(), core, p.config)
	if len(networks) == 0 || networks[0].Source != "node at 127.0.0.1:1" || strings.Contains(text, "127.0.0.1") {
		t.Errorf("answer to the operator %+v, to other callers %s", networks, text)
	}
}

func TestMetrics_have_a_separate_address(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	p := demo(t, "CHEQUER_METRICS="+address)
	if status, _ := fetch(t, p.url+"/metrics"); status != http.StatusNotFound {
		t.Errorf("/metrics at the shop's address: answer %d, want 404", status)
	}
	if status, text := fetch(t, "http://"+address+"/debug/pprof/goroutine?debug=1"); status != http.StatusOK || !strings.Contains(text, "goroutine profile:") {
		t.Errorf("/debug/pprof answers %d", status)
	}
	if status, _ := fetch(t, p.url+"/debug/pprof/"); status != http.StatusNotFound {
		t.Errorf("/debug/pprof at the shop's address: answer %d, want 404", status)
	}
	for { // until the first scan of simnet
		status, text := fetch(t, "http://"+address+"/metrics")
		if status != http.StatusOK {
			t.Fatalf("answer %d: %s", status, text)
		}
		if strings.Contains(text, `chequer_scan_seconds_count{network="simnet"}`) {
			for _, name := range []string{`chequer_network_tip_height{network="simnet"}`, `chequer_network_scan_age_seconds{network="simnet"}`, "go_goroutines"} {
				if !strings.Contains(text, name) {
					t.Errorf("%s is missing", name)
				}
			}
			return
		}
	}
}

func TestNew_names_the_setting_of_a_metrics_address_in_use(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := config.Load([]string{"CHEQUER_LISTEN=127.0.0.1:0", "CHEQUER_BASE_URL=http://pay.example", "CHEQUER_DATA_DIR=" + t.TempDir(), "CHEQUER_METRICS=" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = app.New(t.Context(), c, app.Options{Demo: true, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "CHEQUER_METRICS") {
		t.Errorf("got error %v, want one about CHEQUER_METRICS", err)
	}
}

func TestApp_answers_API_errors_outside_the_base_path(t *testing.T) {
	t.Parallel()
	p := demo(t, "CHEQUER_BASE_URL=https://shop.example/pay")
	for path, want := range map[string]string{
		"/api/v2/invoice/status":     `{"statusCode":404,"error":"Not Found","message":"There is nothing at this address"}`,
		"/v2/invoice/status":         `{"statusCode":404,"error":"Not Found","message":"There is nothing at this address"}`,
		"/pay/api/v2/invoice/status": `{"statusCode":404,"error":"Not Found","message":"There is no such invoice"}`,
	} {
		if status, text := fetch(t, "http://"+p.config.Listen+path); status != http.StatusNotFound || strings.TrimSpace(text) != want {
			t.Errorf("%s: answer %d: %s, want %s", path, status, text, want)
		}
	}
}
