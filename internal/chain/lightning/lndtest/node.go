package lndtest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/programtest"
)

// timeout limits one action of a node. It is long, because the machine may be busy.
const timeout = 2 * time.Minute

// Node is a node of lnd. Its methods fail the test on errors.
type Node struct {
	// Server is the URL of its REST API, and Cert the file of its certificate.
	Server, Cert string
	// Key is its public key in hexadecimal digits.
	Key string

	dir, peers string // data directory, and the address for other nodes
	arguments  []string
	process    *programtest.Process
}

// newNode returns a node that is not started.
func newNode(t testing.TB, chain *bitcointest.Node, arguments ...string) *Node {
	t.Helper()
	dir := t.TempDir()
	rest := programtest.FreeAddress(t, "127.0.0.1")
	n := &Node{Server: "https://" + rest, Cert: filepath.Join(dir, "tls.cert"), dir: dir, peers: programtest.FreeAddress(t, "127.0.0.1")}
	n.arguments = append([]string{
		"--configfile=" + os.DevNull, "--lnddir=" + dir, "--bitcoin.regtest", "--bitcoin.node=btcd", "--bitcoin.defaultchanconfs=1",
		"--btcd.rpchost=" + strings.TrimPrefix(chain.RPC, "https://"), "--btcd.rpccert=" + chain.Cert,
		"--btcd.rpcuser=" + chain.User, "--btcd.rpcpass=" + chain.Password,
		"--listen=" + n.peers, "--rpclisten=" + programtest.FreeAddress(t, "127.0.0.1"), "--restlisten=" + rest,
		"--nobootstrap", "--trickledelay=50", "--debuglevel=warn",
	}, arguments...)
	t.Cleanup(n.kill)
	return n
}

// Start starts a stopped node with its existing data and addresses, and returns when it answers.
func (n *Node) Start(t testing.TB) {
	t.Helper()
	n.launch(t)
	n.until(t, "a chain that it has read", func() bool {
		var info struct {
			Key    string `json:"identity_pubkey"`
			Synced bool   `json:"synced_to_chain"`
		}
		err := n.call(t.Context(), http.MethodGet, "/v1/getinfo", nil, &info)
		n.Key = info.Key
		return err == nil && info.Synced && n.State(t) == "SERVER_ACTIVE"
	})
}

// launch starts the program, and returns when its REST API answers.
func (n *Node) launch(t testing.TB) {
	t.Helper()
	output, err := os.Create(filepath.Join(n.dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	command := exec.Command(programtest.FetchedPath("lnd"), n.arguments...)
	command.Stdout, command.Stderr = output, output
	if n.process, err = programtest.Start(command); err != nil {
		t.Fatalf("start lnd: %v", err)
	}
	n.until(t, "its state", func() bool { return n.State(t) != "" })
}

// State returns the state that lnd reports, "" if it does not answer.
func (n *Node) State(t testing.TB) string {
	t.Helper()
	var answer struct{ State string }
	_ = n.call(t.Context(), http.MethodGet, "/v1/state", nil, &answer)
	return answer.State
}

// Stop stops the node and returns when it has ended.
func (n *Node) Stop(t testing.TB) {
	t.Helper()
	n.Call(t, http.MethodPost, "/v1/stop", map[string]any{}, nil)
	select {
	case <-n.process.Ended:
	case <-time.After(timeout):
		t.Fatal("lnd does not stop")
	}
	n.kill()
}

// kill ends the process, if it runs.
func (n *Node) kill() {
	if n.process != nil {
		n.process.Kill()
		n.process = nil
	}
}

// Macaroon returns a macaroon that lnd makes at its first start, in hexadecimal digits: "admin", "invoice" or "readonly".
func (n *Node) Macaroon(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(n.macaroonPath(name))
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(raw)
}

func (n *Node) macaroonPath(name string) string {
	return filepath.Join(n.dir, "data", "chain", "bitcoin", "regtest", name+".macaroon")
}

// Bake returns a macaroon with operations, such as "invoices:read", in hexadecimal digits. Revoke ends the macaroons with
// its root key.
func (n *Node) Bake(t testing.TB, rootKey string, operations ...string) string {
	t.Helper()
	var permissions []map[string]string
	for _, o := range operations {
		entity, action, _ := strings.Cut(o, ":")
		permissions = append(permissions, map[string]string{"entity": entity, "action": action})
	}
	var answer struct{ Macaroon string }
	n.Call(t, http.MethodPost, "/v1/macaroon", map[string]any{"permissions": permissions, "root_key_id": rootKey}, &answer)
	return answer.Macaroon
}

// Revoke revokes the macaroons of a root key.
func (n *Node) Revoke(t testing.TB, rootKey string) {
	t.Helper()
	n.Call(t, http.MethodDelete, "/v1/macaroon/"+rootKey, nil, nil)
}

// Connection returns the connection that a merchant pastes, in the form of lndconnect.
func (n *Node) Connection(t testing.TB, macaroon string) string {
	t.Helper()
	raw, err := hex.DecodeString(macaroon)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := os.ReadFile(n.Cert)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(pool)), "\n")
	der, err := base64.StdEncoding.DecodeString(strings.Join(lines[1:len(lines)-1], ""))
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return "lndconnect" + strings.TrimPrefix(n.Server, "https") + "?macaroon=" + encode(raw) + "&cert=" + encode(der)
}

// Call calls the REST API with the macaroon admin, and decodes the answer.
func (n *Node) Call(t testing.TB, method, path string, content, answer any) {
	t.Helper()
	if err := n.call(t.Context(), method, path, content, answer); err != nil {
		t.Fatalf("lnd: %s %s: %v", method, path, err)
	}
}

// call is Call with an error. A nil answer is not decoded.
func (n *Node) call(ctx context.Context, method, path string, content, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := n.open(ctx, method, path, content)
	if err != nil {
		return err
	}
	defer body.Close()
	if answer == nil {
		_, err = io.Copy(io.Discard, body)
		return err
	}
	return json.NewDecoder(body).Decode(answer)
}

// Answer calls the REST API with a macaroon and returns the status and the body of the answer.
func (n *Node) Answer(t testing.TB, method, path, macaroon string, content any) (status int, body []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	response, err := n.request(ctx, method, path, macaroon, content)
	if err != nil {
		t.Fatalf("lnd: %s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		t.Fatalf("lnd: %s %s: %v", method, path, err)
	}
	return response.StatusCode, body
}

// request calls the REST API with a macaroon.
func (n *Node) request(ctx context.Context, method, path, macaroon string, content any) (*http.Response, error) {
	client, err := n.client()
	if err != nil {
		return nil, err
	}
	var body []byte
	if content != nil {
		if body, err = json.Marshal(content); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, n.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Grpc-Metadata-macaroon", macaroon)
	return client.Do(r)
}

// open calls the REST API with the macaroon admin and returns the body of the answer.
func (n *Node) open(ctx context.Context, method, path string, content any) (io.ReadCloser, error) {
	macaroon, _ := os.ReadFile(n.macaroonPath("admin")) // missing before there is a wallet
	response, err := n.request(ctx, method, path, hex.EncodeToString(macaroon), content)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("%s: %s", response.Status, text)
	}
	return response.Body, nil
}

// client returns a client that trusts the certificate of the node. It keeps no connection, which a restart would break.
func (n *Node) client() (*http.Client, error) {
	pem, err := os.ReadFile(n.Cert)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate", n.Cert)
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}, nil
}

// until waits until isTrue returns true, and fails the test if the node ends or after timeout. condition describes the
// expected state in the message.
func (n *Node) until(t testing.TB, condition string, isTrue func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !isTrue(); time.Sleep(50 * time.Millisecond) {
		ended := time.Now().After(deadline)
		select {
		case <-n.process.Ended:
			ended = true
		default:
		}
		if ended {
			text, _ := os.ReadFile(filepath.Join(n.dir, "output"))
			t.Fatalf("lnd does not show %s:\n%s", condition, text[max(0, len(text)-2000):])
		}
	}
}
