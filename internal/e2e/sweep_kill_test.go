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
	node := ethereumtest.Anvil(t, ethereum.Base.ChainID)
	p := plantest.Example(time.Now().UTC().Truncate(time.Second))
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

	send := func() (*exec.Cmd, *bytes.Buffer) {
		c := exec.CommandContext(t.Context(), binary(t), "sweep", "send", file, "--yes", "--wait", "0")
		var errs bytes.Buffer
		c.Env, c.Stderr = process.environ, &errs
		return c, &errs
	}
	kills := 0
	for attempt := 0; ; attempt++ {
		if attempt > 200 {
			t.Fatalf("the plan is not sent after %d kills", kills)
		}
		c, errs := send()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		trap.arm(c, kills%2 == 0)
		err := c.Wait()
		trap.mu.Lock()
		killed := trap.killed
		trap.process = nil
		trap.mu.Unlock()
		if killed {
			kills++
			node.Mine(t)
			continue
		}
		if strings.Contains(errs.String(), recorded.ErrHeld.Error()) {
			time.Sleep(2 * time.Second) // until the lease of the killed process is over
			continue
		}
		if err != nil {
			t.Fatalf("send: %v\n%s", err, errs.String())
		}
		break
	}
	if kills < 4 {
		t.Errorf("the process was killed %d times, want at least four", kills)
	}
	for range 3 * 64 {
		node.Mine(t)
	}
	c, errs := send()
	if err := c.Run(); err != nil {
		t.Fatalf("settle: %v\n%s", err, errs.String())
	}
	var shown struct {
		Moved string `json:"moved"`
		Rows  []struct {
			State string `json:"state"`
		} `json:"rows"`
	}
	if err := json.Unmarshal(process.run("sweep", "show", p.ID, "--json"), &shown); err != nil {
		t.Fatal(err)
	}
	for i, r := range shown.Rows {
		if r.State != string(recorded.Moved) {
			t.Errorf("row %d is %s, want moved", i+1, r.State)
		}
	}
	for _, sum := range p.Sums {
		contract := contractOf(ethereum.Base, sum.Asset)
		if contract == "" {
			continue
		}
		if held := node.Read(t, contract, ethereumtest.Data("balanceOf(address)", plantest.To)); held.Cmp(sum.Amount) != 0 {
			t.Errorf("the destination holds %s units of %s, want %s", held, sum.Asset, sum.Amount)
		}
	}
}

// holdExample gives the addresses of a plan their amounts, and the payer its nonce and its fees.
func holdExample(t *testing.T, node *ethereumtest.Node, p plan.Plan) {
	t.Helper()
	var code string
	node.Call(t, &code, "eth_getCode", node.DeployAuthorized(t), "latest")
	node.SetMulticall(t, evm.Multicall3.String())
	node.Call(t, nil, "anvil_setCode", "0x420000000000000000000000000000000000000F", "0x6103e860005260206000f3") // the oracle of fees returns 1,000
	for _, r := range p.Rows {
		if r.Way == plan.ByOwn {
			node.Call(t, nil, "anvil_setBalance", r.From.String(), fmt.Sprintf("0x%x", new(big.Int).Mul(r.Amount, big.NewInt(2))))
			continue
		}
		node.Call(t, nil, "anvil_setCode", r.Contract.String(), code)
		owner, slot := evm.AddressWord(r.From), evm.NumberWord(1) // the slot of Authorized.balanceOf
		node.Call(t, nil, "anvil_setStorageAt", r.Contract.String(), evm.Keccak256(owner[:], slot[:]).String(), evm.Hash(evm.NumberWord(r.Amount.Uint64())).String())
	}
	usdc := contractOf(ethereum.Base, "USDC-BASE")
	node.Mine(t, node.Transact(t, usdc, ethereumtest.Data("setDollar(uint256)", big.NewInt(1))))
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
