package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"chequer/internal/api"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/client"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"chequer": main})
}

// TestCommands_behave_as_documented runs the scripts in testdata, which also document the command line.
func TestCommands_behave_as_documented(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"await": await, "lnd": func(ts *testscript.TestScript, _ bool, args []string) { startLND(t, ts, args) }, "sweepnode": func(ts *testscript.TestScript, _ bool, _ []string) { sweepNode(t, ts) },
			"mine": func(ts *testscript.TestScript, _ bool, args []string) { mine(t, ts, args) }, "receiver": receiver, "order": createOrder, "ordered": createProductOrder, "buy": buyProduct, "sweepplan": writeSweepPlan},
		Setup: func(e *testscript.Env) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Setenv("FREE", l.Addr().String())
			return l.Close()
		},
	})
}

// await FILE PATTERN [NAME…] waits until a file matches a pattern, and sets environment variables
// with the given names to its groups.
func await(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: await FILE PATTERN [NAME…]")
	}
	pattern := regexp.MustCompile("(?m)" + args[1])
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(30 * time.Second)
	for {
		text, _ := os.ReadFile(ts.MkAbs(args[0])) // the file may not exist yet
		if found := pattern.FindSubmatch(text); found != nil {
			for i, name := range args[2:] {
				ts.Setenv(name, string(found[i+1]))
			}
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			ts.Fatalf("%s does not match %s:\n%s", args[0], args[1], text)
		}
	}
}

// newClient returns a client of the server of the settings.
func newClient(ts *testscript.TestScript) *client.Client {
	c, err := client.New(client.Config{
		BaseURL: "http://" + ts.Getenv("CHEQUER_LISTEN"), Key: ts.Getenv("CHEQUER_API_KEY"), Secret: ts.Getenv("CHEQUER_API_SECRET"),
	})
	ts.Check(err)
	return c
}

// order ID creates a test invoice with an order number, at the server of the settings.
func createOrder(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: order ID")
	}
	_, err := newClient(ts).CreateInvoice(context.Background(), api.InvoiceRequest{Amount: "5", FiatCurrency: "EUR", OrderID: args[0]}, "")
	ts.Check(err)
}

// ordered ORDER QUANTITY PRODUCT creates a test invoice with the metadata of a product's order, at the
// server of the settings.
func createProductOrder(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: ordered ORDER QUANTITY PRODUCT")
	}
	_, err := newClient(ts).CreateInvoice(context.Background(), api.InvoiceRequest{
		Amount: "7.50", FiatCurrency: "EUR", OrderID: args[0] + "-1", Description: args[1] + " × Coffee",
		Metadata: map[string]string{
			api.MetadataProduct: args[2], api.MetadataQuantity: args[1], api.MetadataUnitPrice: "2.5",
			api.MetadataNote: "ring twice\nsecond floor", "gift": "yes",
		},
	}, "")
	ts.Check(err)
}

// buy PRODUCT QUANTITY AMOUNT ORDER orders a product in euro as its page does, at the server of the settings.
func buyProduct(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: buy PRODUCT QUANTITY AMOUNT ORDER")
	}
	quantity, err := strconv.Atoi(args[1])
	ts.Check(err)
	_, err = newClient(ts).OrderProduct(context.Background(), api.ProductOrder{Slug: args[0], Quantity: quantity, Amount: args[2], FiatCurrency: "EUR", OrderID: args[3]}, args[3])
	ts.Check(err)
}

// sweepplan FILE writes a plan of tokens that was made now.
func writeSweepPlan(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: sweepplan FILE")
	}
	p, err := plan.Encode(plantest.Tokens(time.Now()))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), p.Bytes(), 0o600))
}

// lnd FILE [OPERATION…] starts lnd, and writes a connection to it with a macaroon of some operations into a file, or of
// those of lnd's invoice.macaroon.
func startLND(t *testing.T, ts *testscript.TestScript, args []string) {
	t.Helper()
	if len(args) == 0 {
		ts.Fatalf("usage: lnd FILE [OPERATION…]")
	}
	macaroon := lightningtest.InvoiceMacaroon
	if len(args) > 1 {
		macaroon = lightningtest.Bake(args[1:]...)
	}
	node := lightningtest.NewLND(t, time.Now, macaroon)
	server := httptest.NewTLSServer(node)
	ts.Defer(server.Close)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(node.Connection(server)+"\n"), 0o600))
}

// receiver FILE STATUS NAME starts an HTTP server that answers with a status and writes its
// requests into a file. The environment variable NAME has its address.
func receiver(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: receiver FILE STATUS NAME")
	}
	var status int
	if _, err := fmt.Sscan(args[1], &status); err != nil {
		ts.Fatalf("status %s: %v", args[1], err)
	}
	file, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got bytes.Buffer
		fmt.Fprintln(&got, r.Method, r.URL.Path)
		names := make([]string, 0, len(r.Header))
		for name := range r.Header {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(&got, "%s: %s\n", name, r.Header.Get(name))
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(&got, "%s\n\n", body)
		_, _ = file.Write(got.Bytes())
		w.WriteHeader(status)
	}))
	ts.Defer(func() {
		s.Close()
		file.Close()
	})
	ts.Setenv(args[2], s.URL)
}
