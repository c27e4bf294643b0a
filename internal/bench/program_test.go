package bench_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/programtest"
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

// program is the server in a separate process.
type program struct {
	binary   string
	folder   string
	database string // URL
	url      string
	environ  []string
	command  *exec.Cmd
	process  *programtest.Process
	started  time.Duration // time from the start to listening
	key      string        // API key
	secret   string
	headers  map[string]string // of a request with body
}

// serve prepares a shop with a new database and starts the server with the given additional
// settings. The server ends with the benchmark.
func serve(b *testing.B, e engine, more ...string) *program {
	b.Helper()
	p := prepare(b, e, more...)
	for _, w := range wallets {
		p.run(b, "wallet", "add", w[0], w[1])
	}
	p.useKey(b)
	p.start(b)
	return p
}

// prepare prepares a shop without wallets in a new database. The server does not run yet; it ends with the benchmark.
func prepare(b *testing.B, e engine, more ...string) *program {
	b.Helper()
	binary, err := build()
	if err != nil {
		b.Fatal(err)
	}
	folder, database := e(b)
	listen := programtest.FreeAddress(b, "127.0.0.1")
	p := &program{binary: binary, folder: folder, database: database, url: "http://" + listen, environ: append(os.Environ(),
		"CHEQUER_LISTEN="+listen, "CHEQUER_DATA_DIR="+folder, "CHEQUER_UNWATCHED=on", "CHEQUER_BITCOIN_NODE=off", "CHEQUER_ETHEREUM_RPC=off", "CHEQUER_BASE_RPC=off",
		"CHEQUER_RATE_LIMIT=off", "CHEQUER_CALLBACK_ALLOW=127.0.0.0/8", "CHEQUER_RATES=fixed:BTC-EUR=86420.00,LTC-EUR=78.35,ETH-EUR=2650.10,EUR-USD=1.08")}
	p.environ = append(p.environ, more...)
	if strings.HasPrefix(database, "postgres") {
		p.environ = append(p.environ, "CHEQUER_DATABASE_URL="+database)
	}
	p.run(b, "init")
	b.Cleanup(func() {
		if p.process != nil {
			p.process.Kill()
		}
	})
	return p
}

// useKey creates an API key that the following requests use. Invoices of a test key have every
// payment method of the test wallets.
func (p *program) useKey(b *testing.B, options ...string) {
	b.Helper()
	var key struct{ Key, Secret string }
	if err := json.Unmarshal(p.run(b, append([]string{"key", "add", "--json"}, options...)...), &key); err != nil {
		b.Fatal(err)
	}
	p.key, p.secret = key.Key, key.Secret
	p.headers = map[string]string{api.HeaderKey: key.Key, api.HeaderSignature: signature.Sign(key.Secret, []byte(body))}
}

// run runs a command of the program, and returns its output.
func (p *program) run(b *testing.B, args ...string) []byte {
	b.Helper()
	c := exec.CommandContext(b.Context(), p.binary, args...)
	c.Env = p.environ
	output, err := c.Output()
	if err != nil {
		b.Fatalf("chequer %s: %v", strings.Join(args, " "), err)
	}
	return output
}

// start starts the server and records how long it takes to listen.
func (p *program) start(b *testing.B) {
	b.Helper()
	p.command = exec.Command(p.binary, "serve")
	p.command.Env = p.environ
	out, err := p.command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	startedAt := time.Now()
	if p.process, err = programtest.Start(p.command); err != nil {
		b.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatalf("the server did not start: %v", err)
	}
	p.started = time.Since(startedAt)
}

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

// BenchmarkStart measures the start of the program with an existing database.
func BenchmarkStart(b *testing.B) {
	onEngines(b, func(b *testing.B, e engine) {
		p := serve(b, e)
		measure(b, "existing database", func(b *testing.B) {
			p.process.Kill()
			p.start(b)
			b.ReportMetric(milliseconds(p.started), "ms")
			b.ReportMetric(mebibytes(p.memory()), "idle-MiB")
		})
	})
}
