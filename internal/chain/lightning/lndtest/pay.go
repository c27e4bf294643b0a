package lndtest

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain/lightning/bolt11"
)

// Pay pays a request of another node in any spelling, also as a link, as a wallet does that has read a QR code. It returns
// when the payment has succeeded.
func (n *Node) Pay(t testing.TB, text string) {
	t.Helper()
	n.mustSend(t, map[string]any{"payment_request": strings.TrimPrefix(strings.ToLower(text), "lightning:")}, "SUCCEEDED")
}

// PayMore pays a request of another node with a larger amount, in millisatoshi.
func (n *Node) PayMore(t testing.TB, text string, milliSatoshi int64) {
	t.Helper()
	r, err := bolt11.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	n.mustSend(t, map[string]any{
		"dest": r.NodeKey[:], "amt_msat": milliSatoshi, "payment_hash": r.PaymentHash[:], "payment_addr": r.PaymentSecret[:],
		"final_cltv_delta": r.FinalCLTV, "dest_features": []string{"TLV_ONION_OPT", "PAYMENT_ADDR_OPT", "MPP_OPT"},
	}, "SUCCEEDED")
}

func (n *Node) mustSend(t testing.TB, payment map[string]any, want string) {
	t.Helper()
	if err := n.send(t, payment, want); err != nil {
		t.Fatalf("lnd: pay: %v", err)
	}
}

// send begins a payment and returns when it has a status.
func (n *Node) send(t testing.TB, payment map[string]any, want string) error {
	t.Helper()
	payment["timeout_seconds"], payment["fee_limit_sat"] = 60, "100"
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	body, err := n.open(ctx, http.MethodPost, "/v2/router/send", payment)
	if err != nil {
		return err
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Result struct {
				Status string
				Reason string `json:"failure_reason"`
			}
		}
		switch err := json.Unmarshal(lines.Bytes(), &event); {
		case err != nil:
			return err
		case event.Result.Status == want:
			return nil
		case event.Result.Status == "FAILED":
			return errors.New(event.Result.Reason)
		}
	}
	return fmt.Errorf("no status %s: %w", want, cmp.Or(lines.Err(), io.ErrUnexpectedEOF))
}

// Held is a request whose payment a node accepts only when the test wants it.
type Held struct {
	Text, Hash string

	node     *Node
	preimage []byte
}

// MakeHeld makes a request for an amount in satoshis that ends after a time in seconds.
func (n *Node) MakeHeld(t testing.TB, satoshi int64, expiry int) *Held {
	t.Helper()
	h := &Held{node: n, preimage: make([]byte, 32)}
	_, _ = rand.Read(h.preimage)
	hash := sha256.Sum256(h.preimage)
	h.Hash = hex.EncodeToString(hash[:])
	var answer struct {
		Request string `json:"payment_request"`
	}
	n.Call(t, http.MethodPost, "/v2/invoices/hodl", map[string]any{"hash": hash[:], "value": satoshi, "expiry": expiry, "private": true}, &answer)
	h.Text = answer.Request
	return h
}

// PayHeld begins the payment of a request, and returns when it is held.
func (n *Node) PayHeld(t testing.TB, h *Held) {
	t.Helper()
	n.mustSend(t, map[string]any{"payment_request": h.Text}, "IN_FLIGHT")
	h.node.until(t, "a held payment", func() bool { return h.node.Invoice(t, h.Hash)["state"] == "ACCEPTED" })
}

// Settle accepts the payment.
func (h *Held) Settle(t testing.TB) {
	t.Helper()
	h.node.Call(t, http.MethodPost, "/v2/invoices/settle", map[string]any{"preimage": h.preimage}, nil)
	h.node.until(t, "a settled payment", func() bool { return h.node.Invoice(t, h.Hash)["state"] == "SETTLED" })
}

// Cancel refuses the payment.
func (h *Held) Cancel(t testing.TB) {
	t.Helper()
	hash, err := hex.DecodeString(h.Hash)
	if err != nil {
		t.Fatal(err)
	}
	h.node.Call(t, http.MethodPost, "/v2/invoices/cancel", map[string]any{"payment_hash": hash}, nil)
	h.node.until(t, "a cancelled payment", func() bool { return h.node.Invoice(t, h.Hash)["state"] == "CANCELED" })
}

// Invoice returns a request as lnd shows it. The hash is in hexadecimal digits.
func (n *Node) Invoice(t testing.TB, hash string) map[string]any {
	t.Helper()
	var invoice map[string]any
	n.Call(t, http.MethodGet, "/v1/invoice/"+hash, nil, &invoice)
	return invoice
}

// Settlements subscribes to the invoices of the node, and sends the time of each notification that one is settled, until the
// benchmark ends. It subscribes in the background, because the node answers with its first notification.
func (n *Node) Settlements(b *testing.B) <-chan time.Time {
	times := make(chan time.Time, 16)
	go func() {
		defer close(times)
		body, err := n.open(b.Context(), http.MethodGet, "/v1/invoices/subscribe", nil)
		if err != nil {
			return
		}
		defer body.Close()
		for lines := bufio.NewScanner(body); lines.Scan(); {
			if strings.Contains(lines.Text(), `"state":"SETTLED"`) {
				times <- time.Now()
			}
		}
	}()
	return times
}
