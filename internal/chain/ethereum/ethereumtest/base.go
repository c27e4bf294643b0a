package ethereumtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// BaseNode starts a fake node of the network Base and returns its URL. The result of each eth_call and each eth_getBalance is the number
// decimals.
func BaseNode(t testing.TB, decimals int) (url string) {
	t.Helper()
	block := map[string]any{
		"number": "0x10", "hash": "0x" + strings.Repeat("1", 64), "parentHash": "0x" + strings.Repeat("2", 64), "timestamp": fmt.Sprintf("0x%x", time.Now().Unix()),
	}
	results := map[string]any{"eth_chainId": "0x2105", "eth_getBlockByNumber": block, "eth_call": fmt.Sprintf("0x%064x", decimals), "eth_getBalance": fmt.Sprintf("0x%x", decimals)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		type call struct {
			ID     int    `json:"id"`
			Method string `json:"method,omitempty"`
			Result any    `json:"result"`
		}
		var raw json.RawMessage
		var calls []call
		var single call
		_ = json.NewDecoder(r.Body).Decode(&raw)
		if json.Unmarshal(raw, &calls) != nil {
			_ = json.Unmarshal(raw, &single)
			single.Result = results[single.Method]
			_ = json.NewEncoder(w).Encode(single)
			return
		}
		for i, c := range calls {
			calls[i].Result = results[c.Method]
		}
		_ = json.NewEncoder(w).Encode(calls)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
