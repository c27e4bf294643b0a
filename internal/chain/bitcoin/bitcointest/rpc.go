package bitcointest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
)

// Call calls a method of the node and decodes its result.
func (n *Node) Call(t testing.TB, result any, method string, params ...any) {
	t.Helper()
	if err := n.call(t.Context(), result, method, params...); err != nil {
		t.Fatalf("%s: %s: %v", n.software.name, method, err)
	}
}

// call is Call with an error; a nil result is not decoded.
func (n *Node) call(ctx context.Context, result any, method string, params ...any) error {
	client, err := n.client()
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "1.0", "id": 1, "method": method, "params": append([]any{}, params...)})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.RPC, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.SetBasicAuth(n.User, n.Password)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	switch err := json.NewDecoder(response.Body).Decode(&answer); {
	case err != nil:
		return fmt.Errorf("%s: %w", response.Status, err)
	case answer.Error != nil:
		return errors.New(answer.Error.Message)
	case result == nil:
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

// client returns the HTTP client of the running node, which creates its certificate when it
// starts.
func (n *Node) client() (*http.Client, error) {
	if n.rpc != nil {
		return n.rpc, nil
	}
	transport := &http.Transport{}
	if n.Cert != "" {
		pem, err := os.ReadFile(n.Cert)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: no certificate", n.Cert)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	n.rpc = &http.Client{Transport: transport}
	return n.rpc, nil
}

// disconnect closes and drops the HTTP client.
func (n *Node) disconnect() {
	if n.rpc != nil {
		n.rpc.CloseIdleConnections()
		n.rpc = nil
	}
}
