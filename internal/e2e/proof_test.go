package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/programtest"
)

// TestProof_states_every_shown_address checks the statement as a shopper does that has the shop's key
// from another source. Every QR code and address in the browser must be in the signed statement, and a
// changed address must not. Afterwards the receipt is downloaded.
func TestProof_states_every_shown_address(t *testing.T) {
	program := start(t, settings(t), app.Options{Demo: true})
	merchant := newShop(t, program.url, program.key)
	folder := t.TempDir()
	keys := filepath.Join(folder, "shop.keys")
	saveResponse(t, program.url+api.PathProofKey, keys)
	for _, screen := range screens {
		t.Run(screen.name, func(t *testing.T) {
			tab := open(t, screen)
			page := tab.createInvoice(program.url, "56,50")
			statement := filepath.Join(folder, screen.name+".txt")
			tab.click("#proof summary")
			tab.pictureOf("#proof", screen, "proof")
			tab.checkNoSidewaysScroll()
			saveResponse(t, tab.attribute("#proof a", "href"), statement, program.url)
			if key := tab.text("#proof code"); !strings.Contains(string(readFile(t, keys)), key+" since ") {
				t.Errorf("the page names the key %s", key)
			}
			ids := get(tab, chromedp.AttributesAll(chromedp.CSSAll(`input[name=method][type=radio]`)))
			if len(ids) < 6 {
				t.Fatalf("%d payment methods on the page", len(ids))
			}
			falsified := 0
			for i, a := range ids {
				address := tab.attribute(fmt.Sprintf("#%s-address", a["id"]), "data-copy")
				if out, err := verify(t, statement, keys, address); err != nil || !strings.Contains(out, "The statement contains the address") {
					t.Errorf("%s: %v\n%s", address, err, out)
				}
				swapped := address[:len(address)-1] + map[bool]string{true: "q", false: "p"}[strings.HasSuffix(address, "p")]
				if out, err := verify(t, statement, keys, swapped); err == nil || !strings.Contains(out, "do not pay") {
					t.Errorf("%s, which is swapped: %v\n%s", swapped, err, out)
				}
				if i > 1 {
					continue // the codes of two methods are read
				}
				tab.click(fmt.Sprintf(`label[for=%q]`, a["id"]))
				code := tab.decode(fmt.Sprintf(`section:has(#%s-address) .qr svg`, a["id"]))
				if out, err := verify(t, statement, keys, code); err != nil {
					t.Errorf("code %s: %v\n%s", code, err, out)
				}
				changed := strings.Replace(code, "amount=0", "amount=9", 1)
				if changed == code {
					continue // the first code of a token is its address
				}
				falsified++
				if out, err := verify(t, statement, keys, changed); err == nil {
					t.Errorf("another amount is accepted:\n%s", out)
				}
			}
			if falsified == 0 {
				t.Error("no code with an amount was read")
			}

			id := idOf(page)
			merchant.simulate(id, api.SimulateExact, api.SimulateConfirm)
			tab.waitFor("#st", "Paid. Thank you.", tab.reloader(screen, page))
			tab.pictureOf("#pdf", screen, "paid_pdf")
			tab.checkNoSidewaysScroll()
			receipt := filepath.Join(folder, screen.name+".pdf")
			saveResponse(t, tab.attribute("#pdf", "href"), receipt, program.url)
			if !bytes.HasPrefix(readFile(t, receipt), []byte("%PDF-")) {
				t.Errorf("the receipt is %.40q, want a PDF", readFile(t, receipt))
			}
			if shots := os.Getenv("E2E_SHOTS"); shots != "" {
				tab.check(os.WriteFile(filepath.Join(shots, screen.name+".receipt.pdf"), readFile(t, receipt), 0o644))
			}
			tab.checkConsole()
		})
	}
}

// verify runs the command verify without any setting.
func verify(t *testing.T, statement, keys, shown string) (out string, err error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), binary(t), "verify", statement, "--key", keys, "--address", shown)
	c.Env = []string{}
	printed, err := c.CombinedOutput()
	return string(printed), err
}

// saveResponse writes the response of an address to a file. A server is prepended to a path.
func saveResponse(t *testing.T, address, file string, server ...string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Join(server, "")+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s has status %d: %v", address, response.StatusCode, err)
	}
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
}

// readFile returns the content of a file.
func readFile(t *testing.T, file string) []byte {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestManual_checks_proofs runs the manual's commands on a genuine and on a changed statement.
func TestManual_checks_proofs(t *testing.T) {
	t.Parallel()
	programtest.RequireProgram(t, "openssl")
	_, after, _ := strings.Cut(string(readFile(t, "../manual/security.md")), "## Proof of address")
	_, after, _ = strings.Cut(after, "```text\nKEY=…")
	_, script, _ := strings.Cut(after, "\n")
	script, _, found := strings.Cut(script, "```")
	if !found {
		t.Fatal("the manual shows no check")
	}
	p := start(t, settings(t), app.Options{Demo: true})
	id, err := newShop(t, p.url, p.key).client.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: "56.50", FiatCurrency: "EUR"}, "")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	statement := filepath.Join(folder, "proof.txt")
	saveResponse(t, p.url+"/invoice/"+id+"/proof.txt", statement)
	text := string(readFile(t, statement))
	_, key, _ := strings.Cut(text, "\nkey: ed25519:")
	key, _, _ = strings.Cut(key, "\n")
	check := func(text string) error {
		if err := os.WriteFile(statement, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), "sh", "-ec", script)
		c.Dir, c.Env = folder, []string{"KEY=" + key, "PATH=" + os.Getenv("PATH")}
		output, err := c.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		return nil
	}
	if err := check(text); err != nil {
		t.Errorf("openssl refuses a genuine statement: %v\n%s", err, text)
	}
	if err := check(strings.Replace(text, "BTC on", "LTC on", 1)); err == nil {
		t.Error("openssl accepts a changed statement")
	}
}
