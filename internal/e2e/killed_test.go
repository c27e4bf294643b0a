package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"chequer/internal/api"
	"chequer/internal/keys"
	"chequer/internal/signature"
	"chequer/internal/storage/storagetest"
)

// The account key of BIP 84's test vectors. It is used as a receiving key in these tests only.
const zpub = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"

// engines are the databases that the program runs on. Without an address it creates an SQLite file.
var engines = []struct {
	name     string
	database func(t *testing.T) string
}{
	{"sqlite", func(*testing.T) string { return "" }},
	{"postgresql", func(t *testing.T) string { return storagetest.Postgres(t) }},
}

// TestKilled_while_creating_loses_no_invoice kills the program during 100 parallel requests. No created
// invoice may be lost, and no index may be used twice.
func TestKilled_while_creating_loses_no_invoice(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			listen := freeAddress(t)
			p := &process{t: t, url: "http://" + listen, environ: append(os.Environ(),
				"CHEQUER_LISTEN="+listen, "CHEQUER_DATA_DIR="+t.TempDir(), "CHEQUER_UNWATCHED=on", "CHEQUER_BITCOIN_NODE=off", "CHEQUER_RATE_LIMIT=off",
				"CHEQUER_RATES=fixed:BTC-EUR=86420.00,EUR-USD=1.08")}
			if url := engine.database(t); url != "" {
				p.environ = append(p.environ, "CHEQUER_DATABASE_URL="+url)
			}
			p.run("init")
			p.run("wallet", "add", "BTC", zpub)
			var key struct{ Key, Secret string }
			if err := json.Unmarshal(p.run("key", "add", "--json"), &key); err != nil {
				t.Fatal(err)
			}
			p.serve()
			answered := p.createUntilKilled(key.Key, key.Secret, 100, 40)
			p.serve()
			p.checkAnswered(answered)
			p.checkNextIndex(key.Key, key.Secret, answered)
		})
	}
}

// createUntilKilled creates invoices in parallel, and kills the server after enough of them are
// answered. It returns the answered invoices.
func (p *process) createUntilKilled(key, secret string, parallel int, minCreated int64) []api.Invoice {
	var mu sync.Mutex
	var answered []api.Invoice
	var count atomic.Int64
	enoughCreated := make(chan struct{})
	var once sync.Once
	ctx, cancel := context.WithTimeout(p.t.Context(), waitTimeout)
	defer cancel()
	var group sync.WaitGroup
	for range parallel {
		group.Go(func() {
			for ctx.Err() == nil {
				inv, err := createSpecInvoice(ctx, p.url, key, secret)
				if err != nil {
					return // the server was killed
				}
				mu.Lock()
				answered = append(answered, inv)
				mu.Unlock()
				if count.Add(1) >= minCreated {
					once.Do(func() { close(enoughCreated) })
				}
			}
		})
	}
	select {
	case <-enoughCreated:
	case <-ctx.Done():
		p.t.Fatal("too few requests were answered")
	}
	p.kill()
	cancel()
	group.Wait()
	return answered
}

// createSpecInvoice creates one invoice over HTTP, signed over the body only.
func createSpecInvoice(ctx context.Context, url, key, secret string) (api.Invoice, error) {
	body := []byte(`{"amount":12.50,"fiat_currency":"EUR"}`)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+api.PathInvoiceNew, bytes.NewReader(body))
	if err != nil {
		return api.Invoice{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(api.HeaderKey, key)
	r.Header.Set(api.HeaderSignature, signature.Sign(secret, body))
	return sendRequest(r)
}

// sendRequest sends a request and decodes the response.
func sendRequest(r *http.Request) (api.Invoice, error) {
	var inv api.Invoice
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return inv, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return inv, err
	}
	if resp.StatusCode != http.StatusOK {
		return inv, fmt.Errorf("%s: %s", resp.Status, text)
	}
	return inv, json.Unmarshal(text, &inv)
}

// checkAnswered fails if an answered invoice is missing, or has another address.
func (p *process) checkAnswered(answered []api.Invoice) {
	p.t.Helper()
	for _, want := range answered {
		r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+api.PathInvoiceStatus+"?id="+want.ForeignID, nil)
		if err != nil {
			p.t.Fatal(err)
		}
		got, err := sendRequest(r)
		if err != nil {
			p.t.Errorf("invoice %s is lost: %v", want.ForeignID, err)
			continue
		}
		if got.Addresses[0].Address != want.Addresses[0].Address {
			p.t.Errorf("invoice %s has the address %s, want %s", want.ForeignID, got.Addresses[0].Address, want.Addresses[0].Address)
		}
	}
}

// maxSkipped is the largest number of indexes that a crash of a busy shop skips above those of the
// stored invoices.
const maxSkipped = 100

// checkNextIndex fails if two invoices share an address, or if the next invoice has the index of a
// stored invoice or skips more than maxSkipped indexes. Requests that were in progress when the
// program was killed may have stored invoices without an answer.
func (p *process) checkNextIndex(key, secret string, answered []api.Invoice) {
	p.t.Helper()
	var stored []json.RawMessage
	if err := json.Unmarshal(p.run("invoice", "list", "--limit", "1000", "--json"), &stored); err != nil {
		p.t.Fatal(err)
	}
	if len(stored) < len(answered) {
		p.t.Errorf("%d invoices are stored, %d were answered", len(stored), len(answered))
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), waitTimeout)
	defer cancel()
	next, err := createSpecInvoice(ctx, p.url, key, secret)
	if err != nil {
		p.t.Fatal(err)
	}
	owners := map[string]string{}
	for _, inv := range append(answered, next) {
		address := inv.Addresses[0].Address
		if other, isRepeated := owners[address]; isRepeated {
			p.t.Errorf("invoices %s and %s share %s", other, inv.ForeignID, address)
		}
		owners[address] = inv.ForeignID
	}
	account, err := keys.Parse(zpub, keys.BTC, keys.Main, "")
	if err != nil {
		p.t.Fatal(err)
	}
	for index := range uint32(len(stored) + maxSkipped + 1) {
		address, _, err := account.Address(index)
		if err != nil {
			p.t.Fatal(err)
		}
		if address == next.Addresses[0].Address {
			if int(index) < len(stored) {
				p.t.Errorf("the next index is %d after %d stored invoices", index, len(stored))
			}
			return
		}
	}
	p.t.Errorf("the next invoice skipped more than %d indexes above the %d stored invoices", maxSkipped, len(stored))
}

// TestNo_published_key_in_the_binary searches the binary for the keys of published test vectors, whose
// private keys are public.
func TestNo_published_key_in_the_binary(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(binary(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, published := range []string{
		zpub[4:40], "CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3", "DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMt",
		"bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", "9858EfFD232B4033E47d90003D41EC34EcaEda94",
		"BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc", "abandon abandon",
		"f39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
	} {
		if bytes.Contains(content, []byte(published)) {
			t.Errorf("the binary contains %s", published)
		}
	}
}
