package invoice_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

func TestInvoice_is_paid(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	if got := inv.Quote().Prices[0].Expected.String(); got != "0.0005" {
		t.Fatalf("40.00 EUR cost %s BTC, want 0.0005", got)
	}
	s.wantStatus(inv, invoice.Created)
	s.clock.Advance(time.Minute)
	tx := s.pay(inv, "BTC", "0.0005")
	s.wantStatus(inv, invoice.Pending)
	s.must(s.net.Confirm(t.Context(), []string{tx}))
	paid := s.wantStatus(inv, invoice.Paid)
	if paid.State.PaidTx != tx || paid.State.PaidAsset != "BTC" || !paid.State.PaidAt.Equal(s.clock.Now()) {
		t.Errorf("paid by %s %s at %s, want BTC %s at %s", paid.State.PaidAsset, paid.State.PaidTx, paid.State.PaidAt, tx, s.clock.Now())
	}
	want := []string{
		"1 invoice.created created", "2 payment.seen pending", "2 invoice.pending pending",
		"3 payment.confirmed paid", "3 invoice.paid paid",
	}
	if diff := cmp.Diff(want, s.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	// Another scan changes nothing.
	s.clock.Advance(time.Hour)
	s.step()
	if got := s.reload(inv).Version; got != paid.Version {
		t.Errorf("version changed from %d to %d", paid.Version, got)
	}
}

func TestQuoted_amount_does_not_depend_on_later_rates(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.setRates("BTC-EUR=9000,EUR-USD=2")
	s.clock.Advance(time.Minute)
	s.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "BTC", "0.0005")}))
	paid := s.wantStatus(inv, invoice.Paid)
	if got := paid.State; !got.Due.IsZero() || !got.Overpaid.IsZero() || got.Paid.String() != "40" || paid.Payments()[0].Amount.String() != "0.0005" {
		t.Errorf("%s is paid, %s due, %s overpaid, by %s BTC", got.Paid, got.Due, got.Overpaid, paid.Payments()[0].Amount)
	}
}

// C02: these prices lose a unit when they are converted to a binary float and back.
func TestPrices_that_floats_get_wrong_are_paid_exactly(t *testing.T) {
	t.Parallel()
	s := openShop(t, "BTC-EUR=200000,EUR-USD=1")
	for _, tt := range []struct{ price, code, due string }{
		{"24.43", "BTC", "0.00012215"}, {"24.44", "BTC", "0.0001222"}, {"2.01", "USDC", "2.01"},
	} {
		inv := s.create(tt.price, tt.code)
		if got := inv.Quote().Prices[0].Expected.String(); got != tt.due {
			t.Errorf("%s EUR cost %s %s, want %s", tt.price, got, tt.code, tt.due)
		}
		s.clock.Advance(time.Second)
		s.must(s.net.Confirm(t.Context(), []string{s.pay(inv, tt.code, tt.due)}))
		for range 12 {
			s.must(s.net.Confirm(t.Context(), nil))
		}
		if paid := s.wantStatus(inv, invoice.Paid); !paid.State.Due.IsZero() {
			t.Errorf("%s EUR: %s is due", tt.price, paid.State.Due)
		}
	}
}

func TestAmounts_of_many_sizes_are_paid_exactly(t *testing.T) {
	t.Parallel()
	s := openShop(t, "BTC-EUR=81867.3452,LTC-EUR=78.31,ETH-EUR=2650.17,EUR-USD=1.0833")
	s.clock.Advance(time.Minute)
	var created []*invoice.Invoice
	var txs []string
	for i := range 60 {
		inv := s.create(fmt.Sprintf("%d.%02d", 10+i*7, (i*37)%100))
		code := []string{"BTC", "USDC", "ETH"}[i%3]
		price, _ := inv.Quote().Price(code)
		txs = append(txs, s.pay(inv, code, price.Expected.String()))
		created = append(created, inv)
	}
	s.must(s.net.Confirm(t.Context(), txs))
	for range 12 {
		s.must(s.net.Confirm(t.Context(), nil))
	}
	s.step()
	for _, inv := range created {
		if got := s.reload(inv); got.State.Status != invoice.Paid || got.State.Has(invoice.Overpaid) || !got.State.Due.IsZero() {
			t.Errorf("%s EUR: %s %v, due %s", inv.Terms.Price, got.State.Status, got.State.Exceptions, got.State.Due)
		}
	}
}

func TestInvoice_is_underpaid_or_overpaid_by_one_wei(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	for _, tt := range []struct {
		wei        int64
		want       invoice.Status
		exceptions []invoice.Exception
	}{
		{-1, invoice.Pending, []invoice.Exception{invoice.Underpaid}},
		{0, invoice.Paid, nil},
		{1, invoice.Paid, []invoice.Exception{invoice.Overpaid}},
	} {
		inv := s.create("12.34", "ETH")
		price, _ := inv.Quote().Price("ETH")
		amount := money.FromMinor(new(big.Int).Add(price.Expected.Minor(), big.NewInt(tt.wei)), money.ETH)
		s.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "ETH", amount.String())}))
		s.wantStatus(inv, tt.want, tt.exceptions...)
	}
}

func TestMethods_that_cannot_carry_the_amount_are_left_out(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	first := s.create("10", "BTC")
	for _, amount := range []string{"0.01", "0.10", "0.43"} {
		_, err := s.service.Create(t.Context(), s.request(amount, "BTC"))
		var small *invoice.TooSmallError
		if !errors.As(err, &small) || small.Smallest.String() != "0.44" {
			t.Errorf("%s EUR in BTC alone: %v, want smallest 0.44", amount, err)
		}
		inv := s.create(amount, "BTC", "EURC")
		if len(inv.Methods) != 1 || inv.Methods[0].Asset.Code != "EURC" {
			t.Errorf("%s EUR is offered in %v, want EURC", amount, inv.Methods)
		}
	}
	next := s.create("0.44", "BTC")
	if got := next.Methods[0].Index; got != first.Methods[0].Index+1 {
		t.Errorf("refused amounts used indexes: %d after %d", got, first.Methods[0].Index)
	}
}

func TestCreate_refuses_requests_without_a_method(t *testing.T) {
	t.Parallel()
	s := openShop(t, "BTC-EUR=80000,EUR-USD=1.08")
	for _, tt := range []struct {
		name   string
		change func(r *invoice.CreateRequest)
		want   error
	}{
		{"no wallet", func(r *invoice.CreateRequest) { r.Wallets = nil }, invoice.ErrNoWallet},
		{"an unknown method", func(r *invoice.CreateRequest) { r.PaymentMethods = []string{"DOGE"} }, invoice.ErrNoMethod},
		{"no rate", func(r *invoice.CreateRequest) { r.PaymentMethods = []string{"LTC"} }, invoice.ErrNoRate},
		{"a volatile price held too long", func(r *invoice.CreateRequest) { r.PaymentMethods, r.ExpiresIn = []string{"BTC"}, 2*time.Hour }, invoice.ErrTooLong},
	} {
		r := s.request("10")
		tt.change(&r)
		if _, err := s.service.Create(t.Context(), r); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestExpiry_waits_for_coverage(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("10")
	s.clock.Advance(15*time.Minute + 30*time.Second)
	_, err := s.service.Expire(t.Context(), 10) // no scan since expiry
	s.must(err)
	if got := s.reload(inv).State.Status; got != invoice.Created {
		t.Fatalf("expired without coverage: %s", got)
	}
	s.clock.Advance(10 * time.Second)
	s.wantStatus(inv, invoice.Expired)
}

func TestDelayed_is_raised_without_coverage(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("10")
	s.clock.Advance(15*time.Minute + 3*time.Hour)
	_, err := s.service.Expire(t.Context(), 10)
	s.must(err)
	got := s.reload(inv)
	if got.State.Status != invoice.Created || !got.State.Has(invoice.Delayed) {
		t.Errorf("after three hours without coverage: %s %v", got.State.Status, got.State.Exceptions)
	}
	if list := s.events(); !strings.Contains(list[len(list)-1], "exception.raised") {
		t.Errorf("events: %v, want exception.raised last", list)
	}
	s.wantStatus(inv, invoice.Created, invoice.Delayed)
	s.clock.Advance(time.Minute)
	s.wantStatus(inv, invoice.Expired)
}

func TestTransfer_is_replaced_and_reorganised(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.clock.Advance(time.Minute)
	tx := s.pay(inv, "BTC", "0.0005")
	s.wantStatus(inv, invoice.Pending)
	s.must(s.net.Replace(t.Context(), tx))
	s.wantStatus(inv, invoice.Created, invoice.WasReplaced)

	tx = s.pay(inv, "BTC", "0.0005")
	s.must(s.net.Confirm(t.Context(), []string{tx}))
	s.wantStatus(inv, invoice.Paid, invoice.WasReplaced)
	s.must(s.net.Reorganise(t.Context(), []string{tx}))
	s.wantStatus(inv, invoice.Pending, invoice.WasReplaced, invoice.WasReorged)
	s.must(s.net.Confirm(t.Context(), []string{tx}))
	s.wantStatus(inv, invoice.Paid, invoice.WasReplaced)
	want := []string{
		"1 invoice.created created",
		"2 payment.seen pending", "2 invoice.pending pending",
		"3 payment.replaced created", "3 invoice.reverted created", "3 exception.raised created",
		"4 payment.seen paid", "4 payment.confirmed paid", "4 invoice.paid paid",
		"5 payment.reorged pending", "5 invoice.reverted pending", "5 exception.raised pending",
		"6 payment.confirmed paid", "6 invoice.paid paid",
	}
	if diff := cmp.Diff(want, s.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestSkipQuote_moves_only_this_invoice(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv, other := s.create("40"), s.create("40")
	_, err := s.service.SkipQuote(t.Context(), inv.ID)
	s.must(err)
	s.wantStatus(inv, invoice.Expired)
	s.wantStatus(other, invoice.Created)
	s.pay(inv, "BTC", "0.0005")
	s.wantStatus(inv, invoice.Expired, invoice.Late)
	accepted, err := s.service.Accept(t.Context(), inv.ID, "key_a", 0)
	s.must(err)
	if accepted.State.Status != invoice.Pending {
		t.Errorf("accepted and unconfirmed: %s, want pending", accepted.State.Status)
	}
}

func TestCancel_and_accept_need_the_right_state(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	if _, err := s.service.Accept(t.Context(), inv.ID, "key_a", 0); !errors.Is(err, invoice.ErrState) {
		t.Errorf("accept without a transfer: %v", err)
	}
	_, err := s.service.Cancel(t.Context(), inv.ID, 0)
	s.must(err)
	s.wantStatus(inv, invoice.Declined)
	s.clock.Advance(time.Minute)
	s.pay(inv, "BTC", "0.0005")
	s.wantStatus(inv, invoice.Declined, invoice.Late)
	if _, err := s.service.Cancel(t.Context(), inv.ID, 0); !errors.Is(err, invoice.ErrState) {
		t.Errorf("cancel twice: %v", err)
	}
}

func TestDepth_depends_on_all_invoices_of_a_transaction(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	var outputs []simnet.Output
	var created []*invoice.Invoice
	for range 20 { // 20 × 40.00 EUR in one transaction are 800.00
		inv := s.create("40")
		m, _ := inv.Method(simnet.ID, "BTC")
		outputs = append(outputs, simnet.OutputTo(m.Asset, m.Destination.Script, money.MustParse("0.0005", money.BTC)))
		created = append(created, inv)
	}
	tx, err := s.net.Send(t.Context(), simnet.Tx{Outputs: outputs})
	s.must(err)
	s.must(s.net.Confirm(t.Context(), []string{tx}))
	s.step()
	for _, inv := range created {
		if got := s.reload(inv); got.State.Status != invoice.Pending || got.Transfers[0].Required != 2 {
			t.Fatalf("one of 20: %s, %d confirmations required, want pending and 2", got.State.Status, got.Transfers[0].Required)
		}
	}
	s.must(s.net.Confirm(t.Context(), nil))
	s.step()
	for _, inv := range created {
		if got := s.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("after two blocks: %s, want paid", got)
		}
	}
}

func TestObserve_with_a_lost_lease_is_refused(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	lease := invoice.Lease{Network: simnet.ID, Epoch: 1, Sequence: 2}
	_, _ = s.store.AcquireLease(t.Context(), simnet.ID, "other", s.clock.Now(), time.Minute) // sees the lease
	s.clock.Advance(time.Minute)
	_, err := s.store.AcquireLease(t.Context(), simnet.ID, "other", s.clock.Now(), time.Minute)
	s.must(err)
	m, _ := inv.Method(simnet.ID, "BTC")
	snapshot := chain.Snapshot{
		Started: s.clock.Now(), Unconfirmed: chain.Complete,
		Transfers: []chain.Transfer{{ID: "x:0", Tx: "x", Asset: "BTC", Script: m.Destination.Script, Amount: money.MustParse("0.0005", money.BTC)}},
	}
	owners := func(string) (invoice.Owner, bool) { return invoice.Owner{InvoiceID: inv.ID, MerchantID: "m"}, true }
	if err := s.service.Observe(t.Context(), lease, snapshot, invoice.Progress{Scanned: s.clock.Now()}, owners); !errors.Is(err, invoice.ErrFenced) {
		t.Errorf("the process without the lease: got error %v, want ErrFenced", err)
	}
	if got := s.reload(inv); len(got.Transfers) != 0 {
		t.Errorf("it recorded %v", got.Transfers)
	}
}

func TestWait_returns_when_the_invoice_changes(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	if _, err := s.service.Wait(t.Context(), inv.ID, inv.Version, time.Millisecond); !errors.Is(err, invoice.ErrNotModified) {
		t.Errorf("without a change: got error %v, want ErrNotModified", err)
	}
	changed := make(chan *invoice.Invoice, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		got, err := s.service.Wait(ctx, inv.ID, inv.Version, time.Minute)
		if err != nil {
			t.Error(err)
		}
		changed <- got
	}()
	s.pay(inv, "BTC", "0.0005")
	s.step()
	if got := <-changed; got == nil || got.State.Status != invoice.Pending {
		t.Errorf("Wait returned %+v, want a pending invoice", got)
	}
}

// A merchant that ships on invoice.paid sees in the count that the invoice was paid before.
func TestPaid_again_after_a_reorganisation_is_counted(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	tx := s.pay(inv, "BTC", "0.0005")
	s.must(s.net.Confirm(t.Context(), []string{tx}))
	s.wantStatus(inv, invoice.Paid)
	first := s.reload(inv)
	s.clock.Advance(time.Minute)
	s.must(s.net.Reorganise(t.Context(), []string{tx}))
	s.step()
	s.clock.Advance(time.Minute)
	s.must(s.net.Confirm(t.Context(), []string{tx}))
	s.step()
	current := s.reload(inv)
	if first.PaidCount != 1 || current.PaidCount != 2 || current.State.Status != invoice.Paid {
		t.Errorf("paid %d times, then %d times, want 1 and 2; the invoice is %s", first.PaidCount, current.PaidCount, current.State.Status)
	}
	if !current.FirstPaidAt.Equal(first.FirstPaidAt) || current.FirstPaidAt.IsZero() {
		t.Errorf("first paid at %s, then at %s, want the same time", first.FirstPaidAt, current.FirstPaidAt)
	}
}

// Decisions are refused if the invoice has changed since the caller read it.
func TestDecisions_about_an_older_version_are_refused(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.pay(inv, "BTC", "0.0004")
	s.step()
	if _, err := s.service.Cancel(t.Context(), inv.ID, inv.Version); !errors.Is(err, invoice.ErrStale) {
		t.Errorf("cancel: %v", err)
	}
	if _, err := s.service.Accept(t.Context(), inv.ID, "key_a", inv.Version); !errors.Is(err, invoice.ErrStale) {
		t.Errorf("accept: %v", err)
	}
	current := s.reload(inv)
	if len(current.Accepted) != 0 || !current.DeclinedAt.IsZero() {
		t.Errorf("the refused decisions changed the invoice: %+v", current)
	}
	d := current.Evaluation().Decisions(s.clock.Now(), invoice.Tolerance{})
	if !d.Accept || !d.Cancel || !d.Requote || !d.HighRisk || d.Accepted.Paid.String() != "32" || d.AcceptedValue.String() != "32" {
		t.Errorf("the decisions are %+v, want to accept 32, to cancel and to requote, with a high risk", d)
	}
	_, err := s.service.Accept(t.Context(), inv.ID, "key_a", current.Version)
	s.must(err)
}

// A waiver of up to the limit of 5 percent and 20 euro is no high risk.
func TestDecisions_high_risk(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		price, coins string
		risk         bool
	}{
		{"40", "0.000475", false}, // 38 euro: 5 percent
		{"40", "0.00047", true},
		{"800", "0.00975", false}, // 780 euro: 20 euro
		{"800", "0.0097", true},
	} {
		s := openShop(t, table)
		inv := s.create(row.price)
		s.pay(inv, "BTC", row.coins)
		s.step()
		if got := s.reload(inv).Evaluation().Decisions(s.clock.Now(), invoice.Tolerance{BasisPoints: 500, Euro: fiat("20")}); !got.Accept || got.HighRisk != row.risk {
			t.Errorf("%s euro paid with %s BTC: high risk %t, want %t: %+v", row.price, row.coins, got.HighRisk, row.risk, got)
		}
	}
}

// Accept records its time and its actor, and the sums are those received.
func TestAccept_records_the_shortfall(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "BTC", "0.0004")}))
	s.step()
	accepted, err := s.service.Accept(t.Context(), inv.ID, "key_a", 0)
	s.must(err)
	state := accepted.State
	if state.Status != invoice.Paid || state.Paid.String() != "32" || state.Due.String() != "0" || !state.Has(invoice.Underpaid) {
		t.Errorf("got %+v", state)
	}
	if accepted.Shortfall().String() != "8" || accepted.AcceptedBy != "key_a" || !accepted.AcceptedAt.Equal(s.clock.Now()) {
		t.Errorf("shortfall %s, by %q at %s, want 8, by key_a at %s", accepted.Shortfall(), accepted.AcceptedBy, accepted.AcceptedAt, s.clock.Now())
	}
	if got := accepted.Payments()[0].Value.String(); got != "32" {
		t.Errorf("the value of the payment is %s, want 32", got)
	}
	s.clock.Advance(time.Minute)
	if current := s.reload(inv); current.State.Paid.String() != "32" || current.State.Status != invoice.Paid {
		t.Errorf("after another read: %+v", current.State)
	}
}

// Accepting an unconfirmed transfer changes the amount due and not the status. It causes one event.
func TestAccept_of_an_unconfirmed_part_causes_one_event(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.clock.Advance(time.Minute)
	s.pay(inv, "BTC", "0.0004")
	s.wantStatus(inv, invoice.Pending, invoice.Underpaid)
	first, err := s.service.Accept(t.Context(), inv.ID, "key_a", 0)
	s.must(err)
	s.clock.Advance(time.Minute)
	second, err := s.service.Accept(t.Context(), inv.ID, "key_b", 0)
	s.must(err)
	if second.Version != first.Version || second.AcceptedBy != "key_a" || !second.AcceptedAt.Equal(first.AcceptedAt) {
		t.Errorf("accepted again: version %d by %s at %s, want %d by %s at %s",
			second.Version, second.AcceptedBy, second.AcceptedAt, first.Version, first.AcceptedBy, first.AcceptedAt)
	}
	s.wantEvents(inv, "1 invoice.created created", "2 payment.seen pending", "2 invoice.pending pending", "2 exception.raised pending",
		"3 invoice.pending pending")
	s.pay(inv, "BTC", "0.00005")
	s.wantStatus(inv, invoice.Pending, invoice.Underpaid)
	third, err := s.service.Accept(t.Context(), inv.ID, "key_b", 0) // also accepts the second payment
	s.must(err)
	if third.AcceptedBy != "key_b" || len(third.Accepted) != 2 {
		t.Errorf("accepted %q by %s, want both payments by key_b", third.Accepted, third.AcceptedBy)
	}
}
