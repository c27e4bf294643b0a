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
	"chequer/internal/signature"
	"chequer/internal/wire"
)

// exampleFolder is the folder of the examples in the API documentation.
const exampleFolder = "../api/examples"

// languages maps each interpreter of the examples to the file extension of its examples. The Go examples
// are built and have no extension.
var languages = map[string]string{"sh": ".sh", "go": "", "node": ".mjs", "python3": ".py", "php": ".php"}

// programs are the examples, ready to run.
type programs struct{ built string } // folder of the built Go examples, with a trailing separator

// examplePrograms builds the Go examples of the given folders.
func examplePrograms(t *testing.T, folders ...string) programs {
	t.Helper()
	p := programs{built: t.TempDir() + string(filepath.Separator)}
	for _, folder := range folders {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", p.built, "./"+folder)
		build.Dir = exampleFolder
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", folder, err, output)
		}
	}
	return p
}

// eachLanguage runs a test for each language. A language that is not installed is skipped, but fails
// in CI.
func eachLanguage(t *testing.T, test func(t *testing.T, language string)) {
	for language := range languages {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			programtest.RequireProgram(t, language)
			test(t, language)
		})
	}
}

// command returns the command that runs an example.
func (p programs) command(t *testing.T, language, folder string, environment []string, arguments ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), filepath.Join(p.built, folder), arguments...)
	if language != "go" {
		c = exec.CommandContext(t.Context(), language, append([]string{folder + "/" + folder + languages[language]}, arguments...)...)
	}
	c.Dir, c.Env = exampleFolder, append(os.Environ(), environment...)
	return c
}

// run runs an example against a server and returns its output.
func (p programs) run(t *testing.T, f *fixture, language, folder, key string, arguments ...string) (string, error) {
	t.Helper()
	httpServer := httptest.NewServer(f.handler)
	defer httpServer.Close()
	output, err := p.command(t, language, folder, []string{
		"CHEQUER_BASE_URL=" + httpServer.URL + "/shop", "CHEQUER_API_KEY=" + publicKey(key), "CHEQUER_API_SECRET=secret of all",
	}, arguments...).Output()
	return string(output), err
}

// The documented examples work against a real server and fail when the server refuses a call.
func TestExamples_create_and_read(t *testing.T) {
	t.Parallel()
	p := examplePrograms(t, "create", "read")
	eachLanguage(t, func(t *testing.T, language string) {
		f := newFixture(t, time.Now)
		created, err := p.run(t, f, language, "create", "all")
		var inv api.Invoice
		if err != nil || json.Unmarshal([]byte(created), &inv) != nil || inv.ClientAmount != "56.5" || inv.Status != api.StatusCreated {
			t.Fatalf("create printed %q, error %v", created, err)
		}
		if second, err := p.run(t, f, language, "create", "all"); err != nil || second != created {
			t.Errorf("second create printed %q, error %v", second, err)
		}
		printed, err := p.run(t, f, language, "read", "all", inv.ForeignID)
		var r api.Resource
		if err != nil || json.Unmarshal([]byte(printed), &r) != nil || r.ForeignID != inv.ForeignID || r.OrderID != "1042" {
			t.Errorf("read printed %q, error %v", printed, err)
		}
		for _, folder := range []string{"create", "read"} {
			printed, err := p.run(t, f, language, folder, "admin", inv.ForeignID) // the secret of this key differs
			if err == nil || !strings.Contains(printed, "Bad signature header") {
				t.Errorf("%s with a wrong secret printed %q, error %v", folder, printed, err)
			}
		}
	})
}

// The examples accept an event only if its signature and timestamp are valid.
func TestExamples_verify_events(t *testing.T) {
	t.Parallel()
	const secret = "secret of the endpoint"
	p := examplePrograms(t, "callback")
	body := wire.TestEvent("evt_1", merchant.Test, noon)
	eachLanguage(t, func(t *testing.T, language string) {
		accepts := p.startReceiver(t, language, secret)
		for _, test := range []struct {
			name     string
			secret   string
			age      time.Duration
			id       string
			body     string
			accepted bool
		}{
			{"genuine", secret, 0, "evt_1", string(body), true},
			{"another secret", "another", 0, "evt_1", string(body), false},
			{"another event", secret, 0, "evt_2", string(body), false},
			{"another body", secret, 0, "evt_1", strings.Replace(string(body), "test", "live", 1), false},
			{"old", secret, 6 * time.Minute, "evt_1", string(body), false},
		} {
			e := signature.Event{Timestamp: strconv.FormatInt(time.Now().Add(-test.age).Unix(), 10), ID: "evt_1", Body: body}
			invalid := sha512.Sum512([]byte(test.name))
			signatures := hex.EncodeToString(invalid[:]) + "," + signature.Sign(test.secret, e.Message()) // two signatures, as during a rotation
			if got := accepts(e.Timestamp, test.id, signatures, test.body); got != test.accepted {
				t.Errorf("%s: accepted = %v, want %v", test.name, got, test.accepted)
			}
		}
	})
}

// startReceiver starts the receiver in a language and returns a function that reports whether the
// receiver accepts an event. The receiver in sh is a program that is run for each event; the others
// are servers.
func (p programs) startReceiver(t *testing.T, language, secret string) func(timestamp, id, signatures, body string) bool {
	t.Helper()
	if language == "sh" {
		return func(timestamp, id, signatures, body string) bool {
			c := p.command(t, language, "callback", []string{"WEBHOOK_SECRET=" + secret}, timestamp, id, signatures)
			c.Stdin = strings.NewReader(body)
			out, err := c.Output()
			return err == nil && string(out) == "genuine\n"
		}
	}
	address := programtest.FreeAddress(t, "127.0.0.1")
	_, port, _ := net.SplitHostPort(address)
	c := p.command(t, language, "callback", []string{"WEBHOOK_SECRET=" + secret, "PORT=" + port})
	if language == "php" {
		c.Args = []string{"php", "-S", address, "callback/callback.php"}
	}
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	if err := awaitListener(t.Context(), address); err != nil {
		t.Fatalf("%s does not listen: %v", language, err)
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

// awaitListener waits until a server listens on the address.
func awaitListener(ctx context.Context, address string) error {
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
