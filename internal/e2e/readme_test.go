package e2e_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/internal/app"
)

// checkProgram is the beginning of a program that runs the manual's check.
const checkProgram = `package main

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
)

func main() {
	r := &http.Request{Header: http.Header{}}
	for _, pair := range os.Args[2:] {
		name, value, _ := strings.Cut(pair, "=")
		r.Header.Set(name, value)
	}
	body, _ := io.ReadAll(os.Stdin)
	fmt.Print(genuine(r, body, os.Args[1]))
}

`

// TestManual_checks_webhooks builds the manual's check, and runs it on genuine and forged deliveries,
// before and during a rotation of the secret.
func TestManual_checks_webhooks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../manual/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "## Check the signature")
	_, after, _ = strings.Cut(after, "```go\n")
	check, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("the manual shows no check in Go")
	}
	folder := t.TempDir()
	source, program := filepath.Join(folder, "main.go"), filepath.Join(folder, "check")
	if err := os.WriteFile(source, []byte(checkProgram+check), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	genuine := func(secret string, h http.Header, body []byte) bool {
		args := []string{secret}
		for name := range h {
			args = append(args, name+"="+h.Get(name))
		}
		c := exec.CommandContext(t.Context(), program, args...)
		c.Stdin = bytes.NewReader(body)
		output, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(output) == "true"
	}

	p := start(t, settings(t, allowLoopback), app.Options{Demo: true})
	s, r := newShop(t, p.url, p.key), newReceiver(t)
	var first, rotating api.Endpoint
	s.call(p.url, p.key, "POST", api.PathEndpoints, `{"url":"`+r.url+`"}`, &first)
	s.createInvoice()
	until(t, waitTimeout, "the first event is received", func() bool { return len(r.received()) == 1 })
	s.call(p.url, p.key, "POST", api.PathEndpoints+"/"+first.ID+"/rotate", "", &rotating)
	s.call(p.url, p.key, "POST", api.PathEndpoints+"/"+first.ID+"/test", "", nil)
	until(t, waitTimeout, "the test event is received", func() bool { return len(r.received()) == 2 })
	for i, secrets := range [][]string{{first.Secret}, {first.Secret, rotating.NextSecret}} {
		got := r.received()[i]
		for _, secret := range secrets {
			if !genuine(secret, got.header, got.body) {
				t.Errorf("the check refuses the genuine delivery %s: %v", got.body, got.header)
			}
		}
		forged := got.header.Clone()
		forged.Set(api.HeaderTimestamp, "1")
		if genuine("another", got.header, got.body) || genuine(first.Secret, forged, got.body) || genuine(first.Secret, got.header, append(got.body, ' ')) {
			t.Error("the check accepts a forged delivery")
		}
	}
}
