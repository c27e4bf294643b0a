package storage_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/storage"
)

// childURL is the environment variable with the URL of the database that a child process of this
// test binary writes to.
const childURL = "CHEQUER_STORAGE_CHILD"

func TestMain(m *testing.M) {
	if url, name := os.Getenv(childURL), os.Getenv(childURL+"_NAME"); url != "" {
		if strings.HasPrefix(name, refunding) {
			refundUntilKilled(url, name)
		}
		if name == filling {
			fillUntilKilled(url)
		}
		if name == removingPersonalData || name == removingBooks {
			removeUntilKilled(url, name)
		}
		createUntilKilled(url, name)
	}
	os.Exit(m.Run())
}

// createUntilKilled creates invoices, eight at a time, until it is killed. It prints the identifier of each
// invoice after CreateInvoice has returned.
func createUntilKilled(url, name string) {
	s, err := storage.Open(context.Background(), url, box(&testing.B{}, 1), storage.Options{})
	if err != nil {
		panic(err)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := 0; ; j++ {
				id := fmt.Sprintf("%s-%d-%d", name, i, j)
				if _, _, err := s.CreateInvoice(context.Background(), creation(id, "shop")); err != nil {
					panic(err)
				}
				fmt.Println(id)
			}
		})
	}
	group.Wait()
}

// filling is the name of child processes that compute sums of days.
const filling = "filling"

// fillUntilKilled computes the sums of days of the shop in parts of two invoices, and prints a line after each part.
// It is killed before it ends. It computes at most 8 parts, so that it never completes the sums, however late it is killed.
func fillUntilKilled(url string) {
	s, err := storage.Open(context.Background(), url, box(&testing.B{}, 1), storage.Options{})
	if err != nil {
		panic(err)
	}
	storage.SetSumBatch(s, 2)
	for range 8 {
		if _, err := s.FillSums(context.Background(), "shop"); err != nil {
			panic(err)
		}
		fmt.Println("part")
	}
	time.Sleep(time.Hour)
}

// refunding begins the names of child processes that add refunds.
const refunding = "refunding"

// refundUntilKilled adds refunds to the invoice "a" as an account, each with an event, until it is killed. It prints
// the identifier of each refund after UpdateInvoice has returned.
func refundUntilKilled(url, name string) {
	s, err := storage.Open(context.Background(), url, box(&testing.B{}, 1), storage.Options{})
	if err != nil {
		panic(err)
	}
	ctx := audit.WithActor(context.Background(), audit.Actor{Kind: audit.Account, ID: "acc_1", Name: "Tove"})
	for i := 0; ; i++ {
		id := fmt.Sprintf("%s-%d", name, i)
		_, err := s.UpdateInvoice(ctx, "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Version++
			inv.Refunds = append(slices.Clone(inv.Refunds), newRefund(id, invoice.RefundReady))
			inv.Events = []invoice.Event{newEvent(id, invoice.EventRefundCreated, inv.Version)}
			return nil
		})
		if err != nil {
			panic(err)
		}
		fmt.Println(id)
	}
}

// Two processes prepare refunds of the same invoice and are killed: none of the refunds that they reported is lost, and
// each has its event and its entry in the audit log.
func TestStorage_keeps_whole_refunds_when_it_is_killed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		var mu sync.Mutex
		var reported []string
		var group sync.WaitGroup
		for _, name := range []string{refunding + "-one", refunding + "-two"} {
			group.Go(func() {
				lines := linesUntilKilled(t, 20, url, name)
				mu.Lock()
				defer mu.Unlock()
				reported = append(reported, lines...)
			})
		}
		group.Wait()
		reopened := open(t, url)
		inv, err := reopened.Invoice(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range reported {
			if !slices.ContainsFunc(inv.Refunds, func(r invoice.Refund) bool { return r.ID == id }) {
				t.Errorf("refund %s was reported and is missing", id)
			}
		}
		number := strconv.Itoa(len(inv.Refunds))
		for _, query := range []string{
			"SELECT COUNT(*) FROM refunds", "SELECT refunds FROM invoices WHERE id = 'a'",
			"SELECT COUNT(*) FROM events WHERE type = 'refund.created'", "SELECT COUNT(*) FROM audit_log WHERE action = 'invoice.changed'",
		} {
			if got := rows(t, url, query); len(got) != 1 || got[0] != number {
				t.Errorf("%s: %v, want %s", query, got, number)
			}
		}
		if _, err := reopened.VerifyAuditLog(t.Context()); err != nil {
			t.Errorf("audit log: %v", err)
		}
	})
}

func TestStorage_keeps_committed_invoices_when_it_is_killed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		created := map[string]bool{}
		var mu sync.Mutex
		var group sync.WaitGroup
		for _, name := range []string{"one", "two"} {
			group.Go(func() {
				for _, id := range linesUntilKilled(t, 150, url, name) {
					mu.Lock()
					created[id] = true
					mu.Unlock()
				}
			})
		}
		group.Wait()

		reopened := open(t, url)
		for id := range created {
			if _, err := reopened.Invoice(t.Context(), id); err != nil {
				t.Errorf("invoice %s was created and is missing: %v", id, err)
			}
		}
		last := create(t, reopened, creation("last", "shop"))
		var want []string
		for i := range last.Methods[0].Index + 1 {
			want = append(want, strconv.Itoa(int(i)))
		}
		indexes := rows(t, url, "SELECT address_index FROM destinations WHERE network = 'bitcoin' ORDER BY address_index")
		if diff := cmp.Diff(want, indexes); diff != "" {
			t.Errorf("indexes (-want +got):\n%s", diff)
		}
		checkFeed(t, url, "shop")
	})
}

// linesUntilKilled runs a child process until it has printed a number of lines, kills it, and returns
// every line that it printed.
func linesUntilKilled(t *testing.T, lines int, url, name string) []string {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childURL+"="+url, childURL+"_NAME="+name)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	if err := child.Start(); err != nil {
		t.Error(err)
		return nil
	}
	var printed []string
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		printed = append(printed, scanner.Text())
		if len(printed) == lines {
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = child.Wait() // it was killed
	if len(printed) < lines {
		t.Errorf("the child process %s ended before it was killed, after %d lines", name, len(printed))
	}
	return printed
}
