package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"chequer/internal/api"
	"chequer/internal/signature"
)

// body is a request for an invoice with every payment method.
const body = `{"amount":12.50,"fiat_currency":"EUR","order_id":"1042"}`

// The account keys of published test vectors. Nothing is paid to their addresses here.
var wallets = [][2]string{
	{"BTC", "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"},
	{"LTC", "zpub6rPo5mF47z5coVm5rvWv7fv181awb7Vckn5Cf3xQXBVKu18kuBHDhNi1Jrb4br6vVD3ZbrnXemEsWJoR18mZwkUdzwD8TQnHDUCGxqZ6swA"},
	{"ETH", "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt"},
}

// program is the server in a process of its own.
type program struct {
	folder   string
	postgres string // address of the PostgreSQL database; "" means SQLite
	url      string
	environ  []string
	command  *exec.Cmd
	started  time.Duration
	headers  map[string]string
	secret   string       // secret of the API key
	last     atomic.Value // id of the last created invoice
}

// build builds the program that is measured.
func build(ctx context.Context, folder string) (string, error) {
	path := filepath.Join(folder, "chequer")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "chequer/cmd/chequer").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return path, nil
}

// serve prepares a shop and starts the server with the given additional settings.
func serve(ctx context.Context, binary, folder, database string, more ...string) (*program, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	listen := l.Addr().String()
	l.Close()
	p := &program{folder: folder, postgres: database, url: "http://" + listen, environ: append(os.Environ(),
		"CHEQUER_LISTEN="+listen, "CHEQUER_DATA_DIR="+folder, "CHEQUER_UNWATCHED=on", "CHEQUER_BITCOIN_NODE=off", "CHEQUER_ETHEREUM_RPC=off", "CHEQUER_BASE_RPC=off", "CHEQUER_RATE_LIMIT=off", "CHEQUER_CALLBACK_ALLOW=127.0.0.0/8",
		"CHEQUER_RATES=fixed:BTC-EUR=86420.00,LTC-EUR=78.35,ETH-EUR=2650.10,EUR-USD=1.08")}
	p.environ = append(p.environ, more...)
	if database != "" {
		p.environ = append(p.environ, "CHEQUER_DATABASE_URL="+database)
	}
	if _, err := p.run(ctx, binary, "init"); err != nil {
		return nil, err
	}
	for _, w := range wallets {
		if _, err := p.run(ctx, binary, "wallet", "add", w[0], w[1]); err != nil {
			return nil, err
		}
	}
	out, err := p.run(ctx, binary, "key", "add", "--json")
	if err != nil {
		return nil, err
	}
	var key struct{ Key, Secret string }
	if err := json.Unmarshal(out, &key); err != nil {
		return nil, err
	}
	p.secret = key.Secret
	p.headers = map[string]string{api.HeaderKey: key.Key, api.HeaderSignature: signature.Sign(key.Secret, []byte(body))}
	return p, p.start(ctx, binary)
}

func (p *program) run(ctx context.Context, binary string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, binary, args...)
	c.Env = p.environ
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("chequer %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}

// start starts the server and records how long it takes to listen.
func (p *program) start(ctx context.Context, binary string) error {
	p.command = exec.CommandContext(ctx, binary, "serve")
	p.command.Env = p.environ
	out, err := p.command.StdoutPipe()
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := p.command.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return fmt.Errorf("the server did not start: %w", err)
	}
	p.started = time.Since(begin)
	return nil
}

func (p *program) stop() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

// database returns the file of an SQLite database.
func (p *program) database() string { return filepath.Join(p.folder, "chequer.db") }

// memory returns the server's resident memory in bytes.
func (p *program) memory() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// create creates one invoice.
func (p *program) create(ctx context.Context) error {
	var inv api.Invoice
	if err := post(ctx, p.url+api.PathInvoiceNew, []byte(body), p.headers, &inv); err != nil {
		return err
	}
	p.last.Store(inv.ForeignID)
	return nil
}

// post sends a body and reads the whole response, into a value if one is given.
func post(ctx context.Context, url string, content []byte, headers map[string]string, into ...any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(content))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	answer, err := fetch(r)
	if err != nil || len(into) == 0 {
		return err
	}
	return json.Unmarshal(answer, into[0])
}

// fetch returns the body of a response, whose status must be 200.
func fetch(r *http.Request) ([]byte, error) {
	resp, err := browser.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return answer, err
}
