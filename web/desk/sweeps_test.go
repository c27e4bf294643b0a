package desk_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/config"
	"chequer/internal/evm"
	"chequer/internal/merchant"
	"chequer/internal/sweep"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
	"chequer/internal/sweep/recorded"
	"chequer/internal/sweep/sign"
)

// stubNetwork is a sweeps.Network without endpoints. It verifies signed files as the program does.
type stubNetwork struct {
	*sweep.Desk
	propose func(recorded.Sweep) recorded.Proposal // nil if the network cannot be read
	settle  func()
	f       *fixture
}

func newStubNetwork(f *fixture) *stubNetwork {
	c, err := config.Load(nil)
	f.must(err)
	return &stubNetwork{Desk: sweep.NewDesk(c, f.storage, f.clock.Now), f: f}
}

func (n *stubNetwork) Propose(ctx context.Context, merchantID, id string, signed []byte) (recorded.Proposal, error) {
	p, err := n.Desk.Propose(ctx, merchantID, id, signed)
	if _, unread := errors.AsType[*recorded.NetworkError](err); !unread || n.propose == nil {
		return p, err
	}
	r, err := n.f.storage.Sweep(ctx, merchantID, id)
	return n.propose(r), err
}

func (n *stubNetwork) Settle(ctx context.Context, merchantID, id string) (recorded.Sweep, error) {
	if n.settle == nil {
		return n.Desk.Settle(ctx, merchantID, id)
	}
	n.settle()
	return n.f.storage.Sweep(ctx, merchantID, id)
}

// addSweep records a plan made now.
func (f *fixture) addSweep(p plan.Plan) plan.Plan {
	f.t.Helper()
	p = plantest.Encoded(f.t, p)
	f.must(f.storage.AddSweep(f.t.Context(), recorded.New(shop, p)))
	return p
}

// signed returns the signed file of a plan.
func (f *fixture) signed(p plan.Plan) []byte {
	f.t.Helper()
	w, err := sign.Open([]byte(plantest.Words), []byte(plantest.Passphrase))
	f.must(err)
	defer w.Close()
	s, err := sign.NewSigner(p, w, sign.Options{})
	f.must(err)
	defer s.Close()
	file, err := s.Sign()
	f.must(err)
	content, err := file.Encode()
	f.must(err)
	return content
}

// carrier returns a transaction with rows.
func carrier(rows ...int) recorded.Carrier {
	return recorded.Carrier{Rows: rows, Data: []byte{0x82, 0xad}, Estimate: 128_000, Gas: 160_000, Fee: big.NewInt(1e15)}
}

// offer lets the network accept rows 1, 2 and 4, in two transactions.
func (f *fixture) offer() {
	f.sweeps.propose = func(r recorded.Sweep) recorded.Proposal {
		return recorded.Proposal{Sweep: r, Carriers: []recorded.Carrier{carrier(1, 2), carrier(4)}, Failing: []recorded.Failing{{Number: 3, State: recorded.Blocked}}}
	}
}

const (
	sweepPage = "/desk/shop/sweeps/swp_9fK2tokens"
	firstHash = "0x" + "ab12" + "00000000000000000000000000000000000000000000000000000000" + "cd34"
)

func TestSweeps_are_listed_with_what_their_plans_say(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	b.get("/desk/shop/sweeps").want(http.StatusOK, "There is no sweep yet.", "chequer sweep plan")
	tokens, mixed := f.addSweep(plantest.Tokens(f.clock.Now().Add(-time.Hour))), f.addSweep(plantest.Example(f.clock.Now()))
	list := b.get("/desk/shop/sweeps").want(http.StatusOK, tokens.SumText(), tokens.Fingerprint(), "Base, to 0x7a25…488D", "4 planned", "€0.31", "2 sweeps, newest first", "until")
	if got := list.find(".rows a").First().Text(); got != mixed.SumText() {
		t.Errorf("the first sweep is %s, want the newest", got)
	}
	b.get("/desk/shop/wallets").want(http.StatusOK, "Sweeps")

	shown := b.get(sweepPage).want(http.StatusOK, "Base", "Signatures work until", "4 rows need an account that pays their fee", "Rows 1 to 4 of 4", tokens.PathText(tokens.Rows[0]), "0.0001 ETH", "nothing")
	if to := strings.ReplaceAll(shown.find(".facts .addr").First().Text(), " ", ""); to != plantest.To {
		t.Errorf("the destination is %s", to)
	}
	payer := b.get("/desk/shop/sweeps/"+mixed.ID).want(http.StatusOK, "The plan has a payer", "chequer sweep send FILE", "3 cost more than 2 %, 1 blocked by the issuer, 2 not final yet", "Not in the plan")
	if n := payer.find(`form[action$="/look"], a[href$="/send"]`).Length(); n > 0 {
		t.Errorf("the page of a plan with a payer has %d actions of a browser wallet", n)
	}
	b.get("/desk/shop/sweeps/swp_none").want(http.StatusNotFound)
	b.get("/desk/other/sweeps/" + tokens.ID).want(http.StatusNotFound)
}

func TestSweeps_have_pages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	p := plantest.Tokens(f.clock.Now())
	for len(p.Rows) < 250 {
		r := p.Rows[3]
		r.From, r.Steps[1] = evm.Address{byte(len(p.Rows)), 1}, uint32(len(p.Rows))
		p.Rows = append(p.Rows, r)
	}
	p.FeeMax.Amount = plantest.Number("100000000000000")
	f.addSweep(p)
	first := b.get(sweepPage).want(http.StatusOK, "Rows 1 to 100 of 250")
	next := first.find(".pager a").AttrOr("href", "")
	b.get(next).want(http.StatusOK, "Rows 101 to 200 of 250")
	b.get(sweepPage+"?row=201").want(http.StatusOK, "Rows 201 to 250 of 250")
	b.get(sweepPage+"?row=9999").want(http.StatusOK, "Rows 1 to 100 of 250")
	for i := range 25 {
		other := plantest.Tokens(f.clock.Now().Add(-time.Duration(i+1) * time.Minute))
		other.ID = "swp_other" + string(rune('a'+i))
		f.addSweep(other)
	}
	list := b.get("/desk/shop/sweeps").want(http.StatusOK, "20 sweeps, newest first")
	b.get(list.find(".pager a").AttrOr("href", "")).want(http.StatusOK, "6 sweeps, newest first")
}

func TestSweep_is_stopped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	p := f.addSweep(plantest.Tokens(f.clock.Now()))
	b.get(sweepPage+"/stop").want(http.StatusOK, "Stop this sweep?", "Signatures that exist work until "+p.Until()+", and can only pay "+plantest.To)
	form := []string{"form", b.formToken()}
	for range 2 { // a form that is sent twice stops once
		b.post(sweepPage+"/stop", form...).wantRedirect(sweepPage + "?done=sweep-stopped")
	}
	if got := f.actionsOf("sweep.stopped"); len(got) != 1 {
		t.Errorf("the audit log has %q, want one entry", got)
	}
	b.get(sweepPage).want(http.StatusOK, "Stopped", "this server sends nothing of it any more")
	b.send(sweepPage + "/stop").wantRedirect(sweepPage)
	b.get(sweepPage+"/send").want(http.StatusOK, "The plan was stopped")
}

func TestSweep_refuses_files_that_are_not_those_of_its_plan(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.offer()
	p := f.addSweep(plantest.Tokens(f.clock.Now()))
	good := f.signed(p)
	changed := plantest.Tokens(f.clock.Now())
	changed.Rows[1].Amount = plantest.Number("2")
	other := plantest.Tokens(f.clock.Now())
	other.ID = "swp_other"
	other = f.addSweep(other)
	short, err := plan.ReadSigned(good)
	f.must(err)
	short.Rows = short.Rows[:3]
	missing, err := short.Encode()
	f.must(err)
	swapped, err := plan.ReadSigned(good)
	f.must(err)
	swapped.Rows[0], swapped.Rows[2] = swapped.Rows[2], swapped.Rows[0]
	wrong, err := swapped.Encode()
	f.must(err)
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"no file":                   {nil, "Choose the signed file."},
		"not JSON":                  {[]byte("hello"), "The signed file is not valid"},
		"the plan itself":           {p.Bytes(), "The signed file is not valid"},
		"a file of another plan":    {f.signed(other), "The signed file differs from the recorded plan: the signed file belongs to the plan swp_other"},
		"a changed plan":            {f.signed(plantest.Encoded(t, changed)), "was changed after it was signed"},
		"another destination":       {[]byte(strings.Replace(string(good), plantest.To, "0x8b7f313935A5F5Ca4d2df1E95E2990Aefc909Bb1", 1)), "to: the signed file pays"},
		"rows that are missing":     {missing, "the signed file has 3, the plan 4"},
		"signatures of other rows":  {wrong, "row 1: signed by"},
		"a file that is too large":  {[]byte(strings.Repeat(" ", 1<<20+1)), "larger than"},
		"a signature that is wrong": {[]byte(strings.Replace(string(good), `"signature":"0x`, `"signature":"0xzz`, 1)), "row 1: signature"},
	} {
		t.Run(name, func(t *testing.T) {
			got := b.upload(sweepPage+"/send", "file", test.content).want(http.StatusUnprocessableEntity)
			if text := got.find("#file-error").Text(); !strings.Contains(strings.ToLower(text), strings.ToLower(test.want)) {
				t.Errorf("the error is %q, want %q", text, test.want)
			}
			if got.find("[data-carrier]").Length() > 0 {
				t.Error("a transaction is offered")
			}
		})
	}
	b.upload(sweepPage+"/send", "file", make([]byte, 1300<<10)).want(http.StatusRequestEntityTooLarge)
	withPayer := f.addSweep(plantest.Example(f.clock.Now()))
	b.upload("/desk/shop/sweeps/"+withPayer.ID+"/send", "file", f.signed(withPayer)).want(http.StatusUnprocessableEntity, "has a payer")
	if found, err := f.storage.Sweep(t.Context(), shop, p.ID); err != nil || found.Count(recorded.Planned) != len(p.Rows) {
		t.Errorf("rows changed: %+v, error %v", found.Rows, err)
	}
}

func TestSweep_names_what_the_network_does_not_allow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	p := f.addSweep(plantest.Tokens(f.clock.Now()))
	file := f.signed(p)
	b.upload(sweepPage+"/send", "file", file).want(http.StatusServiceUnavailable, "Base cannot be read now", "no endpoint may be queried by address")
	b.send(sweepPage+"/look").want(http.StatusServiceUnavailable, "Base cannot be read now")
	f.sweeps.propose = func(r recorded.Sweep) recorded.Proposal {
		return recorded.Proposal{Sweep: r, Fault: "the plan " + p.ID + " is over: it was valid until " + p.Until()}
	}
	b.upload(sweepPage+"/send", "file", file).want(http.StatusOK, "Nothing can be sent now: the plan swp_9fK2tokens is over")
	f.offer()
	f.clock.Advance(7*24*time.Hour - time.Minute)
	b = f.as("Runa", account.Owner)
	b.get(sweepPage+"/send").want(http.StatusOK, "The plan is valid until")
	b.get(sweepPage).want(http.StatusOK, "Planned")
}

// proposal is the page with the transactions for a signed file.
func (f *fixture) proposal(b *browser, file []byte) page {
	f.t.Helper()
	return b.upload(sweepPage+"/send", "file", file).want(http.StatusOK, "Transaction 1 of 2", "Send with a browser wallet")
}

// carried returns the fields of the form for the transaction with an index.
func (p page) carried(i int) []string {
	c := p.find("[data-carrier]").Eq(i)
	return []string{"rows", c.AttrOr("data-rows", ""), "proof", c.AttrOr("data-proof", "")}
}

// asScript posts a form as the script of the page does.
func (b *browser) asScript(path string, pairs ...string) (status int, answer struct{ Error, Text string }) {
	b.fixture.t.Helper()
	form := b.formToken()
	b.header = map[string]string{"Accept": "application/json"}
	defer func() { b.header = nil }()
	p := b.post(path, append(pairs, "form", form)...)
	b.fixture.must(json.Unmarshal([]byte(p.body), &answer))
	return p.status, answer
}

func TestSweep_is_sent_by_a_browser_wallet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.offer()
	p := f.addSweep(plantest.Tokens(f.clock.Now()))
	file := f.signed(p)
	b.get(sweepPage).want(http.StatusOK, "Send with a browser wallet")
	b.get(sweepPage+"/send").want(http.StatusOK, "Signed file", "Check the file")
	shown := f.proposal(b, file).want(http.StatusOK, "3 rows", plantest.To, "Will not be moved", "Blocked", "Gas about 128,000, at most 160,000", "needs JavaScript and a wallet")
	list := shown.find("#carriers")
	for name, want := range map[string]string{"data-to": "0xcA11bde05977b3631167028862bE2a173976CA11", "data-chain": "8453", "data-check": sweepPage + "/ask", "data-record": sweepPage + "/sent"} {
		if got := list.AttrOr(name, ""); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	first := shown.find("[data-carrier]").First()
	if data, gas := first.AttrOr("data-data", ""), first.AttrOr("data-gas", ""); data != "0x82ad" || gas != "0x27100" {
		t.Errorf("the transaction has the data %s and the gas %s", data, gas)
	}
	if status, answer := b.asScript(sweepPage+"/ask", shown.carried(0)...); status != http.StatusOK || answer.Error != "" {
		t.Errorf("asked before sending: %d %+v", status, answer)
	}
	for _, wrong := range []string{"", "0x12", "hello", firstHash + "00", strings.Replace(firstHash, "0x", "", 1)} {
		if status, answer := b.asScript(sweepPage+"/sent", append(shown.carried(0), "tx", wrong)...); status != http.StatusUnprocessableEntity || answer.Error == "" {
			t.Errorf("the hash %q: %d %+v", wrong, status, answer)
		}
	}
	if status, _ := b.asScript(sweepPage+"/sent", "rows", "1,2,3,4", "proof", shown.carried(0)[3], "tx", firstHash); status != http.StatusUnprocessableEntity {
		t.Errorf("rows that no transaction has: %d", status)
	}
	for range 2 {
		if status, answer := b.asScript(sweepPage+"/sent", append(shown.carried(0), "tx", firstHash)...); status != http.StatusOK || !strings.Contains(answer.Text, "2 rows") {
			t.Errorf("recorded: %d %+v", status, answer)
		}
	}
	if got := f.actionsOf("sweep.sent"); len(got) != 1 {
		t.Errorf("the audit log has %q, want one entry", got)
	}
	if status, answer := b.asScript(sweepPage+"/ask", shown.carried(0)...); status != http.StatusConflict || !strings.Contains(answer.Error, "Another transaction") {
		t.Errorf("asked after sending: %d %+v", status, answer)
	}
	if status, answer := b.asScript(sweepPage+"/sent", append(shown.carried(0), "tx", strings.Replace(firstHash, "ab", "ff", 1))...); status != http.StatusOK || !strings.Contains(answer.Text, "Another transaction") {
		t.Errorf("a second transaction with the rows: %d %+v", status, answer)
	}
	b.get(sweepPage).want(http.StatusOK, "Sent in part", "2 planned, 2 sent", "2 rows")
	found, err := f.storage.Sweep(t.Context(), shop, p.ID)
	f.must(err)
	if found.Rows[0].State != recorded.Sent || found.Rows[0].Tx != firstHash || found.Rows[3].State != recorded.Planned {
		t.Errorf("rows are %+v", found.Rows)
	}
	f.must(f.storage.StopSweep(t.Context(), shop, p.ID, f.clock.Now()))
	if status, answer := b.asScript(sweepPage+"/ask", shown.carried(1)...); status != http.StatusConflict || !strings.Contains(answer.Error, "stopped") {
		t.Errorf("asked after it was stopped: %d %+v", status, answer)
	}
}

// The wallet may ask its owner for longer than a confirmed sign-in lasts.
func TestSweep_records_a_hash_after_the_confirmation_is_over(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	manager := f.as("Tove", account.Manager)
	f.offer()
	p := f.addSweep(plantest.Tokens(f.clock.Now()))
	shown := f.proposal(b, f.signed(p))
	fields := append(shown.carried(0), "tx", firstHash)
	if status, _ := manager.asScript(sweepPage+"/ask", shown.carried(0)...); status != http.StatusForbidden {
		t.Errorf("a manager asks: %d, want 403", status)
	}
	manager.send(sweepPage+"/sent", fields...).want(http.StatusForbidden, "Wallets are managed by: Owner: Maren.")
	manager.upload(sweepPage+"/send", "file", f.signed(p)).want(http.StatusForbidden, "Wallets are managed by")
	if n := manager.get(sweepPage).find(`a[href$="/send"], a[href$="/stop"]`).Length(); n > 0 {
		t.Errorf("the page of a manager has %d links that refuse a manager", n)
	}
	f.clock.Advance(11 * time.Minute)
	if status, _ := b.asScript(sweepPage+"/ask", shown.carried(0)...); status != http.StatusForbidden {
		t.Errorf("asked without a confirmed sign-in: %d, want 403", status)
	}
	if status, answer := b.asScript(sweepPage+"/sent", fields...); status != http.StatusOK {
		t.Errorf("recorded: %d %+v", status, answer)
	}
	other := f.as("Runa", account.Owner)
	if status, _ := other.asScript(sweepPage+"/sent", append(shown.carried(1), "tx", firstHash)...); status != http.StatusUnprocessableEntity {
		t.Errorf("a session that did not see the transaction records it: %d", status)
	}
}

// The database, the log and the answers that a repeated form gets have nothing of the signed file.
func TestSweep_keeps_nothing_of_the_signed_file(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.offer()
	p := f.addSweep(plantest.Tokens(f.clock.Now()))
	file := f.signed(p)
	signed, err := plan.ReadSigned(file)
	f.must(err)
	form := b.formToken()
	b.uploadForm(sweepPage+"/send", "file", file, "form", form).want(http.StatusOK, "Transaction 1 of 2")
	f.sweeps.propose = nil // an answer that is kept would be repeated
	b.uploadForm(sweepPage+"/send", "file", file, "form", form).want(http.StatusServiceUnavailable)
	f.offer()
	shown := f.proposal(b, file)
	if status, _ := b.asScript(sweepPage+"/sent", append(shown.carried(0), "tx", firstHash)...); status != http.StatusOK {
		t.Fatalf("recorded: %d", status)
	}
	var stored strings.Builder
	path := strings.TrimPrefix(f.database, "sqlite:")
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + suffix)
		if suffix == "" || !errors.Is(err, os.ErrNotExist) {
			f.must(err)
		}
		stored.Write(content)
	}
	if !strings.Contains(stored.String(), firstHash) {
		t.Fatal("the database is not where the test looks")
	}
	for i, row := range signed.Rows {
		text := strings.TrimPrefix(row.Signature.String(), "0x")
		for where, content := range map[string]string{"database": stored.String(), "log": f.log.String()} {
			if strings.Contains(content, text) || strings.Contains(content, text[:64]) {
				t.Errorf("the %s has the signature of row %d", where, i+1)
			}
		}
	}
}

func TestSweep_looks_again(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	p := f.addSweep(plantest.Tokens(f.clock.Now()))
	f.sweeps.settle = func() {
		var moved []recorded.Change
		for i := range p.Rows {
			moved = append(moved, recorded.Change{Number: i + 1, Row: recorded.Row{State: recorded.Moved, Tx: firstHash, ChangedAt: f.clock.Now()}})
		}
		f.must(f.storage.SaveSweepRows(t.Context(), p.ID, moved))
	}
	b.send(sweepPage + "/look").wantRedirect(sweepPage + "?done=sweep-looked")
	shown := b.get(sweepPage+"?done=sweep-looked").want(http.StatusOK, "These are the states", "Done", "4 moved", "4 rows")
	if n := shown.find(`form[action$="/look"], a[href$="/send"], a[href$="/stop"]`).Length(); n > 0 {
		t.Errorf("the page of a finished sweep has %d actions", n)
	}
	other := plantest.Tokens(f.clock.Now())
	other.ID = "swp_other"
	other = f.addSweep(other)
	var rows []recorded.Change
	for i, state := range []recorded.State{recorded.Moved, recorded.Blocked, recorded.Refused, recorded.Moved} {
		rows = append(rows, recorded.Change{Number: i + 1, Row: recorded.Row{State: state, ChangedAt: f.clock.Now()}})
	}
	f.must(f.storage.SaveSweepRows(t.Context(), other.ID, rows))
	b.get("/desk/shop/sweeps/"+other.ID).want(http.StatusOK, "Done", "2 moved, 1 blocked, 1 refused", "Try the rest again")
	_, err := f.settings.Change(t.Context(), shop, "", merchant.Choices{"explorers": "base=https://explorer.example/tx/{tx}"})
	f.must(err)
	link := b.get(sweepPage).want(http.StatusOK, "Open at explorer.example").find(".out").First()
	if got := link.AttrOr("href", ""); got != "https://explorer.example/tx/"+firstHash {
		t.Errorf("the explorer is %s", got)
	}
}
