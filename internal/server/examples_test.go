package server_test

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/programtest"
	"chequer/internal/server"
	"chequer/internal/signature"
)

// exampleFolder is the folder of the document's examples.
const exampleFolder = "../api/examples"

// languages maps the programs that run the examples to the extension of their files. The Go examples
// are built and have no extension.
var languages = map[string]string{"sh": ".sh", "go": "", "node": ".mjs", "python3": ".py", "php": ".php"}

// programs are the examples; built is the folder of the built Go examples.
type programs struct{ built string }

func examplePrograms(t *testing.T, folders ...string) programs {
	t.Helper()
	p := programs{built: t.TempDir() + string(filepath.Separator)}
	for _, folder := range folders {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", p.built, "./"+folder)
		build.Dir = exampleFolder
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", folder, err, out)
		}
	}
	return p
}

// eachLanguage runs a test for each language. A language that is not installed is skipped, but fails
// in CI.
func eachLanguage(t *testing.T, test func(t *testing.T, tongue string)) {
	for tongue := range languages {
		t.Run(tongue, func(t *testing.T) {
			t.Parallel()
			programtest.Need(t, tongue)
			test(t, tongue)
		})
	}
}

// command returns the command that runs an example.
func (p programs) command(t *testing.T, tongue, folder string, environment []string, arguments ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), filepath.Join(p.built, folder), arguments...)
	if tongue != "go" {
		c = exec.CommandContext(t.Context(), tongue, append([]string{folder + "/" + folder + languages[tongue]}, arguments...)...)
	}
	c.Dir, c.Env = exampleFolder, append(os.Environ(), environment...)
	return c
}

// ask runs an example against a server and returns its output.
func (p programs) ask(t *testing.T, l *lab, tongue, folder, key string, arguments ...string) (string, error) {
	t.Helper()
	listening := httptest.NewServer(l.handler)
	defer listening.Close()
	out, err := p.command(t, tongue, folder, []string{
		"CHEQUER_BASE_URL=" + listening.URL + "/shop", "CHEQUER_API_KEY=" + publicKey(key), "CHEQUER_API_SECRET=secret of all",
	}, arguments...).Output()
	return string(out), err
}

// The document's examples work against a real server and fail when a call is refused.
func TestExamples_create_and_read(t *testing.T) {
	t.Parallel()
	p := examplePrograms(t, "create", "read")
	eachLanguage(t, func(t *testing.T, tongue string) {
		l := newLab(t, time.Now)
		made, err := p.ask(t, l, tongue, "create", "all")
		var inv api.Invoice
		if err != nil || json.Unmarshal([]byte(made), &inv) != nil || inv.ClientAmount != "56.5" || inv.Status != api.StatusCreated {
			t.Fatalf("create printed %q, error %v", made, err)
		}
		if again, err := p.ask(t, l, tongue, "create", "all"); err != nil || again != made {
			t.Errorf("second create printed %q, error %v", again, err)
		}
		told, err := p.ask(t, l, tongue, "read", "all", inv.ForeignID)
		var r api.Resource
		if err != nil || json.Unmarshal([]byte(told), &r) != nil || r.ForeignID != inv.ForeignID || r.OrderID != "1042" {
			t.Errorf("read printed %q, error %v", told, err)
		}
		for _, folder := range []string{"create", "read"} {
			told, err := p.ask(t, l, tongue, folder, "admin", inv.ForeignID) // whose secret differs
			if err == nil || !strings.Contains(told, "Bad signature header") {
				t.Errorf("%s with a wrong secret printed %q, error %v", folder, told, err)
			}
		}
	})
}

// The examples accept a callback only if its signature and timestamp are valid.
func TestExamples_callback(t *testing.T) {
	t.Parallel()
	const secret = "secret of the endpoint"
	p := examplePrograms(t, "callback")
	body := server.EncodeTest("evt_1", merchant.Test, noon)
	eachLanguage(t, func(t *testing.T, tongue string) {
		judge := p.receiving(t, tongue, secret)
		for _, test := range []struct {
			name            string
			secret          string
			age             time.Duration
			id              string
			body            string
			priceCurrencies bool
		}{
			{"genuine", secret, 0, "evt_1", string(body), true},
			{"of another secret", "another", 0, "evt_1", string(body), false},
			{"of another event", secret, 0, "evt_2", string(body), false},
			{"of another body", secret, 0, "evt_1", strings.Replace(string(body), "test", "live", 1), false},
			{"old", secret, 6 * time.Minute, "evt_1", string(body), false},
		} {
			e := signature.Event{Timestamp: strconv.FormatInt(time.Now().Add(-test.age).Unix(), 10), ID: "evt_1", Body: body}
			nobody := sha512.Sum512([]byte(test.name))
			both := hex.EncodeToString(nobody[:]) + "," + signature.Sign(test.secret, e.Message()) // as in a rotation
			if taken := judge(e.Timestamp, test.id, both, test.body); taken != test.priceCurrencies {
				t.Errorf("%s: accepted = %v", test.name, taken)
			}
		}
	})
}

// receiving starts the receiver in a language and returns a function that reports whether it
// accepts a callback. The receiver for curl is a program that is run per callback; the others are
// servers.
func (p programs) receiving(t *testing.T, tongue, secret string) func(timestamp, id, signatures, body string) bool {
	t.Helper()
	if tongue == "sh" {
		return func(timestamp, id, signatures, body string) bool {
			c := p.command(t, tongue, "callback", []string{"WEBHOOK_SECRET=" + secret}, timestamp, id, signatures)
			c.Stdin = strings.NewReader(body)
			out, err := c.Output()
			return err == nil && string(out) == "genuine\n"
		}
	}
	address := programtest.FreeAddress(t, "127.0.0.1")
	_, port, _ := net.SplitHostPort(address)
	c := p.command(t, tongue, "callback", []string{"WEBHOOK_SECRET=" + secret, "PORT=" + port})
	if tongue == "php" {
		c.Args = []string{"php", "-S", address, "callback/callback.php"}
	}
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	if err := answers(t.Context(), address); err != nil {
		t.Fatalf("%s does not listen: %v", tongue, err)
	}
	return func(timestamp, id, signatures, body string) bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/chequer", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(api.HeaderTimestamp, timestamp)
		r.Header.Set(api.HeaderEventID, id)
		r.Header.Set(api.HeaderSignatureV2, signatures)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusForbidden {
			t.Errorf("answer %d, want 200 or 403", response.StatusCode)
		}
		return response.StatusCode == http.StatusOK
	}
}

// answers waits until a server listens on the address.
func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", address, err)
		}
	}
}
