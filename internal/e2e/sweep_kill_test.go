package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/app"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/config"
	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
	"chequer/internal/sweep/recorded"
	"chequer/internal/sweep/sign"
)

// sendTrap is an endpoint in front of a node, which kills a process when it sends a transaction.
type sendTrap struct {
	*httptest.Server
	mu      sync.Mutex
	process *exec.Cmd
	// before is true if the process is killed before the node gets the transaction, otherwise after.
	before bool
	killed bool
}

func newSendTrap(t *testing.T, node *ethereumtest.Node) *sendTrap {
	t.Helper()
	s := &sendTrap{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		isSent := bytes.Contains(body, []byte("eth_sendRawTransaction"))
		if isSent && s.spring(true) {
			return
		}
		answer, err := http.Post(node.RPC, "application/json", bytes.NewReader(body))
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		if isSent && s.spring(false) {
			return
		}
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(s.Close)
	return s
}

// arm lets the trap kill a process.
func (s *sendTrap) arm(process *exec.Cmd, before bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process, s.before, s.killed = process, before, false
}

// spring kills the process if the trap is armed for this moment.
func (s *sendTrap) spring(before bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || s.before != before {
		return s.killed
	}
	_ = s.process.Process.Kill()
	s.process, s.killed = nil, true
	return true
}

// TestKilled_while_a_sweep_is_sent kills the command with SIGKILL at each transaction, before and after the node gets it. Each row is moved
// once. It waits for the lease of the killed process every time.
func TestKilled_while_a_sweep_is_sent(t *testing.T) {
	if os.Getenv("E2E_NIGHTLY") == "" {
		t.Skip("set E2E_NIGHTLY=on to run the nightly tests")
	}
	t.Parallel()
	for name, example := range map[string]func(time.Time) plan.Plan{"with_authorizations": plantest.Example, "with_funded_addresses": plantest.Funded} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killWhileSending(t, example(time.Now().UTC().Truncate(time.Second)))
		})
	}
}

// killWhileSending sends a plan of plantest, kills each process that sends a transaction, and checks what is moved.
func killWhileSending(t *testing.T, p plan.Plan) {
	t.Helper()
	node := ethereumtest.Anvil(t, ethereum.Base.ChainID)
	p.Block = uint64(node.Height(t))
	holdExample(t, node, p)
	p = plantest.Encoded(t, p)
	trap := newSendTrap(t, node)
	process := newProcess(t, t.TempDir(), "CHEQUER_BITCOIN_NODE=off", "CHEQUER_ETHEREUM_RPC=off", "CHEQUER_BASE_RPC=one="+trap.URL+",two="+trap.URL, "CHEQUER_EVM_ADDRESS_QUERIES=on")
	process.run("init")
	recordPlan(t, process, p)
	file := filepath.Join(t.TempDir(), "plan.signed.json")
	if err := os.WriteFile(file, signExample(t, p), 0o600); err != nil {
		t.Fatal(err)
	}

	// A plan with funded addresses needs two runs.
	kills := 0
	for attempt, finished := 0, 0; finished < 2; attempt++ {
		if attempt > 200 {
			t.Fatalf("the plan is not sent after %d kills", kills)
		}
		switch killed, held, err := trap.send(t, process, file, kills%2 == 0); {
		case killed:
			kills++
			node.Mine(t)
		case held:
			time.Sleep(2 * time.Second) // until the lease of the killed process is over
		case err != nil:
			t.Fatal(err)
		default:
			finished++
			node.Mine(t)
		}
	}
	if kills < 4 {
		t.Errorf("the process was killed %d times, want at least four", kills)
	}
	for range 3 * 64 {
		node.Mine(t)
	}
	process.run("sweep", "send", file, "--yes", "--wait", "0")
	var shown struct {
		Rows []struct {
			State string `json:"state"`
		} `json:"row_list"`
	}
	if err := json.Unmarshal(process.run("sweep", "show", p.ID, "--json"), &shown); err != nil {
		t.Fatal(err)
	}
	if len(shown.Rows) != len(p.Rows) {
		t.Fatalf("%d rows are shown, want %d", len(shown.Rows), len(p.Rows))
	}
	for i, r := range shown.Rows {
		if r.State != string(recorded.Moved) {
			t.Errorf("row %d is %s, want moved", i+1, r.State)
		}
	}
	checkHeld(t, node, p)
}

// send sends a signed file while the trap is armed. It reports whether the process was killed, and whether it did not get the lease.
func (s *sendTrap) send(t *testing.T, p *process, file string, before bool) (killed, held bool, err error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), binary(t), "sweep", "send", file, "--yes", "--wait", "0")
	var errs bytes.Buffer
	c.Env, c.Stderr = p.environ, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s.arm(c, before)
	if err = c.Wait(); err != nil {
		err = fmt.Errorf("send: %w\n%s", err, errs.String())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = nil
	return s.killed, strings.Contains(errs.String(), recorded.ErrHeld.Error()), err
}

// checkHeld checks what the destination of a plan holds of its tokens.
func checkHeld(t *testing.T, node *ethereumtest.Node, p plan.Plan) {
	t.Helper()
	for _, sum := range p.Sums {
		row := p.Rows[slices.IndexFunc(p.Rows, func(r plan.Row) bool { return r.Asset == sum.Asset })]
		if row.Way == plan.ByOwn {
			continue
		}
		if held := node.Read(t, row.Contract.String(), ethereumtest.Data("balanceOf(address)", plantest.To)); held.Cmp(sum.Amount) != 0 {
			t.Errorf("the destination holds %s units of %s, want %s", held, sum.Asset, sum.Amount)
		}
	}
}

// holdExample gives the addresses of a plan their amounts, and the payer its nonce and its fees.
func holdExample(t *testing.T, node *ethereumtest.Node, p plan.Plan) {
	t.Helper()
	var authorized, plain string
	node.Call(t, &authorized, "eth_getCode", node.DeployAuthorized(t), "latest")
	node.Call(t, &plain, "eth_getCode", node.Deploy(t, ethereumtest.Code("plain")), "latest")
	node.SetMulticall(t, evm.Multicall3.String())
	node.Call(t, nil, "anvil_setCode", "0x420000000000000000000000000000000000000F", "0x6103e860005260206000f3") // the oracle of fees returns 1,000
	for _, r := range p.Rows {
		if r.Way == plan.ByOwn {
			node.Call(t, nil, "anvil_setBalance", r.From.String(), fmt.Sprintf("0x%x", new(big.Int).Mul(r.Amount, big.NewInt(2))))
			continue
		}
		code := authorized
		if r.Way == plan.ByFunding {
			code = plain
			if !r.IsFunded() {
				node.Call(t, nil, "anvil_setBalance", r.From.String(), "0xde0b6b3a7640000")
			}
		}
		node.Call(t, nil, "anvil_setCode", r.Contract.String(), code)
		owner, slot := evm.AddressWord(r.From), evm.NumberWord(1) // the slot of balanceOf in both contracts
		node.Call(t, nil, "anvil_setStorageAt", r.Contract.String(), evm.Keccak256(owner[:], slot[:]).String(), evm.Hash(evm.NumberWord(r.Amount.Uint64())).String())
	}
	if i := slices.IndexFunc(p.Rows, func(r plan.Row) bool { return r.Asset == "USDC-BASE" }); i >= 0 {
		node.Mine(t, node.Transact(t, p.Rows[i].Contract.String(), ethereumtest.Data("setDollar(uint256)", big.NewInt(1))))
	}
	node.Call(t, nil, "anvil_setBalance", p.Payer.Address.String(), "0xde0b6b3a7640000")
	node.Call(t, nil, "anvil_setNonce", p.Payer.Address.String(), fmt.Sprintf("0x%x", p.Payer.Cost.Nonce))
	node.Mine(t)
}

// recordPlan records a plan in the database of a process that does not run.
func recordPlan(t *testing.T, p *process, made plan.Plan) {
	t.Helper()
	c, err := config.Load(p.environ)
	if err != nil {
		t.Fatal(err)
	}
	core, err := app.OpenCore(t.Context(), c, app.Options{Existing: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	if err := core.Storage.AddSweep(t.Context(), recorded.New("m_first", made)); err != nil {
		t.Fatal(err)
	}
}

// signExample signs a plan of plantest.
func signExample(t *testing.T, p plan.Plan) []byte {
	t.Helper()
	w, err := sign.Open([]byte(plantest.Words), []byte(plantest.Passphrase))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	payer, err := plan.ParsePath(plantest.Payer)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sign.NewSigner(p, w, sign.Options{Payer: payer})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	signed, err := s.Sign()
	if err != nil {
		t.Fatal(err)
	}
	content, err := signed.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return content
}
