package node_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chequer/internal/chain/bitcoin/node"
)

func TestCookie_is_read_again_after_a_restart_of_the_node(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	file := filepath.Join(t.TempDir(), ".cookie")
	n := f.source(func(c *node.Config) { c.CookieFile, c.User, c.Password = file, "", "" })
	checkBest := func(want string) {
		t.Helper()
		_, err := n.Best(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Best() = %v, want %q", err, want)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checkBest("read the cookie file that the node writes when it starts: open " + file)
	write("test:secret\n")
	checkBest("")
	f.set(func() { f.pass = "another" })
	checkBest("wrong password in the cookie file " + file + ": see CHEQUER_BITCOIN_NODE")
	write("test:another")
	checkBest("")
}

func TestCertificate_is_read_again_after_a_failure(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	file := filepath.Join(t.TempDir(), "rpc.cert")
	server := httptest.NewTLSServer(http.HandlerFunc(f.serve))
	t.Cleanup(server.Close)
	n := f.source(func(c *node.Config) { c.URL, c.CertFile = server.URL, file })
	checkBest := func(want string) {
		t.Helper()
		_, err := n.Best(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Best() = %v, want %q", err, want)
		}
	}
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checkBest("read the node's certificate: open " + file)
	write([]byte("none"))
	checkBest("no certificate in " + file)
	write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	checkBest("")

	n = f.source(func(c *node.Config) { c.URL = server.URL })
	checkBest("connection failed: tls: failed to verify certificate")
}
