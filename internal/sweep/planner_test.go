package sweep

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/config"
	"chequer/internal/evm"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/rates"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
	"chequer/internal/sweep/recorded"
	"chequer/internal/sweep/sign"
)

// Contracts on Base.
const (
	eurcBase = "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"
	usdcBase = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	oracle   = "0x420000000000000000000000000000000000000F"
)

// words are the recovery words of shopKey, which is that of m/44'/60'/0'.
const (
	words   = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"
	shopKey = "eth:xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt"
)

// payerPath is the path of an account that pays fees; it is not an address of shopKey.
const payerPath = "m/44'/60'/9'/0/0"

// payer is the address at payerPath.
var payer = plantest.Address("0xbd360E2157d41C9b42e9735720A46D7C4573Af6A")

// fakeStorage is a PlanStorage with one wallet.
type fakeStorage struct {
	issued       uint32
	destinations []string
	watched      []string
	recorded     []recorded.Sweep
}

func (s *fakeStorage) AllWallets(context.Context, string, merchant.Mode) ([]merchant.Wallet, error) {
	return []merchant.Wallet{{ID: "w", Asset: string(keys.ETH), Counter: "c", Key: shopKey}}, nil
}

func (s *fakeStorage) NextIndex(context.Context, string) (uint32, error) { return s.issued, nil }

func (s *fakeStorage) IsDestination(_ context.Context, script string) (bool, error) {
	return slices.Contains(s.destinations, script), nil
}

func (s *fakeStorage) WatchedScripts(_ context.Context, _ chain.ID, scripts []string, _ time.Time) ([]string, error) {
	return slices.DeleteFunc(slices.Clone(scripts), func(script string) bool { return !slices.Contains(s.watched, script) }), nil
}

func (s *fakeStorage) AddSweep(_ context.Context, added recorded.Sweep) error {
	s.recorded = append(s.recorded, added)
	return nil
}

// shop is a node of Base with the addresses of a wallet.
type shop struct {
	*ethereumtest.Node
	storage   *fakeStorage
	planner   *Planner
	addresses []evm.Address
}

// newShop starts a node with EURC, USDC, Multicall3 and the oracle of fees, and a wallet with a number of addresses.
func newShop(t *testing.T, issued uint32) *shop {
	t.Helper()
	s := &shop{Node: ethereumtest.Anvil(t, 8453), storage: &fakeStorage{issued: issued}}
	var code string
	s.Call(t, &code, "eth_getCode", s.DeployAuthorized(t), "latest")
	s.Call(t, nil, "anvil_setCode", eurcBase, code)
	s.Call(t, nil, "anvil_setCode", usdcBase, code)
	s.SetMulticall(t, evm.Multicall3.String())
	s.Call(t, nil, "anvil_setCode", oracle, "0x6103e860005260206000f3") // returns 1,000
	s.MineBlock(t, s.Transact(t, usdcBase, ethereumtest.Data("setDollar(uint256)", big.NewInt(1))))
	key, err := keys.Load(shopKey)
	if err != nil {
		t.Fatal(err)
	}
	if s.addresses, err = addresses(key, 0, issued); err != nil {
		t.Fatal(err)
	}
	s.planner = s.newPlanner(t)
	return s
}

// newPlanner returns a planner that reads the node through two operators.
func (s *shop) newPlanner(t *testing.T) *Planner {
	t.Helper()
	return s.newPlannerThrough(t, s.RPC)
}

// newPlannerThrough is newPlanner with another URL of the second operator.
func (s *shop) newPlannerThrough(t *testing.T, second string) *Planner {
	t.Helper()
	c, err := config.Load([]string{"CHEQUER_BASE_RPC=one=" + s.RPC + ",two=" + second, "CHEQUER_EVM_ADDRESS_QUERIES=on"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlanner(c, "base", s.storage, fixedRates(t), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fixedRates returns rates at which a coin costs 20 EUR.
func fixedRates(t *testing.T) *rates.Fixed {
	t.Helper()
	fixed, err := rates.ParseFixed("ETH-EUR=20,EURC-EUR=1,EUR-USD=1", "fixed")
	if err != nil {
		t.Fatal(err)
	}
	return fixed
}

// mint gives an address an amount of a token.
func (s *shop) mint(t *testing.T, contract string, to evm.Address, units int64) {
	t.Helper()
	s.MineBlock(t, s.Transact(t, contract, ethereumtest.Data("mint(address,uint256)", to.String(), big.NewInt(units))))
}

// fund sets the balance of an account to a fraction of the coin.
func (s *shop) fund(t *testing.T, account evm.Address, milli int64) {
	t.Helper()
	s.Call(t, nil, "anvil_setBalance", account.String(), "0x"+new(big.Int).Mul(big.NewInt(milli), big.NewInt(1e15)).Text(16))
}

// deepen mines blocks, so that all before are final: anvil reports the block 64 below the newest as finalized.
func (s *shop) deepen(t *testing.T) {
	t.Helper()
	s.Call(t, nil, "anvil_mine", "0x64")
}

// request returns a request for a new destination.
func request() Request {
	return Request{MerchantID: "shop", To: plantest.Address(plantest.To), SkipAbove: "2", Validity: 7 * 24 * time.Hour}
}

// draft makes a plan with a new planner, because one caches the newest block.
func (s *shop) draft(t *testing.T, r Request) (Draft, error) {
	t.Helper()
	s.planner = s.newPlanner(t)
	return s.planner.Draft(t.Context(), r)
}

// mustDraft makes a plan.
func (s *shop) mustDraft(t *testing.T, r Request) Draft {
	t.Helper()
	d, err := s.draft(t, r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// skipped returns the skipped amounts of a plan as texts.
func skipped(p plan.Plan) (texts []string) {
	for _, s := range p.Skipped {
		texts = append(texts, fmt.Sprintf("%s %s %s", s.Asset, s.Amount, s.Why))
	}
	slices.Sort(texts)
	return texts
}

func TestPlan_skips_amounts_that_it_should_not_move(t *testing.T) {
	t.Parallel()
	s := newShop(t, 6)
	a := s.addresses
	s.mint(t, eurcBase, a[0], 50_000_000)
	s.mint(t, usdcBase, a[1], 30_000_000)
	s.mint(t, eurcBase, a[2], 20_000_000)
	s.MineBlock(t, s.Transact(t, eurcBase, ethereumtest.Data("setBlocked(address,uint256)", a[2].String(), big.NewInt(1))))
	s.mint(t, eurcBase, a[3], 1)
	s.fund(t, a[4], 100)
	s.fund(t, a[5], 200)
	s.storage.watched = []string{script(a[5])}
	s.deepen(t)
	s.mint(t, eurcBase, a[0], 7_000_000)
	s.mint(t, usdcBase, a[4], 9_000_000)

	p := s.mustDraft(t, request()).Plan
	var rows []string
	for _, r := range p.Rows {
		amount := r.Amount.String()
		if r.Way == plan.ByOwn {
			amount = "reduced"
			if fee := new(big.Int).Sub(big.NewInt(1e17), r.Amount); fee.Sign() <= 0 || fee.Cmp(p.Transaction(r).MaxFee()) <= 0 {
				t.Errorf("row of the coin leaves %s for its fee of up to %s and the fee for data", fee, p.Transaction(r).MaxFee())
			}
		}
		rows = append(rows, fmt.Sprintf("%d %s %s %s %s", r.Steps[1], r.Asset, r.Way, r.Name, amount))
	}
	if diff := cmp.Diff([]string{"0 EURC-BASE authorization EURC 50000000", "1 USDC-BASE authorization USD Coin 30000000", "4 ETH-BASE own  reduced"}, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	want := []string{"ETH-BASE 200000000000000000 watched", "EURC-BASE 1 expensive", "EURC-BASE 20000000 blocked", "EURC-BASE 7000000 not_final", "USDC-BASE 9000000 not_final"}
	if diff := cmp.Diff(want, skipped(p)); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if got := p.Account.String(); got != "m/44'/60'/0'" {
		t.Errorf("account %s", got)
	}
	r := request()
	r.AlsoWatched, r.Assets = true, []string{"ETH-BASE"}
	d := s.mustDraft(t, r)
	if len(d.Plan.Rows) != 2 || !slices.Equal(d.Unseen, a[5:6]) {
		t.Errorf("with watched addresses the plan has %d rows, and %v are unseen, want 2 and %v", len(d.Plan.Rows), d.Unseen, a[5:6])
	}
}

func TestPlan_skips_tokens_that_confirm_no_domain(t *testing.T) {
	t.Parallel()
	s := newShop(t, 2)
	var code string
	s.Call(t, &code, "eth_getCode", s.Token, "latest") // it has no authorizations
	s.Call(t, nil, "anvil_setCode", usdcBase, code)
	s.MineBlock(t, s.Transact(t, s.Token, ethereumtest.Data("balanceOf(address)", s.addresses[0].String())))
	s.mint(t, eurcBase, s.addresses[0], 50_000_000)
	s.MineBlock(t, s.Transact(t, eurcBase, ethereumtest.Data("setDollar(uint256)", big.NewInt(1)))) // another domain
	s.deepen(t)
	_, err := s.draft(t, request())
	if want := "there is nothing to sweep: 1 of a token without authorizations"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestPlan_is_refused(t *testing.T) {
	t.Parallel()
	s := newShop(t, 3)
	s.mint(t, eurcBase, s.addresses[0], 50_000_000)
	s.deepen(t)
	invoice := plantest.Address("0x8b7f313935A5F5Ca4d2df1E95E2990Aefc909Bb1")
	s.storage.destinations = []string{script(invoice)}
	key, err := keys.Load(shopKey)
	if err != nil {
		t.Fatal(err)
	}
	ahead, err := addresses(key, 900, 901)
	if err != nil {
		t.Fatal(err)
	}
	later := ahead[0] // which an invoice may get before the plan is sent
	for name, tt := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"to_zero":                     {func(r *Request) { r.To = evm.Address{} }, "the address is zero"},
		"to_a_precompile":             {func(r *Request) { r.To = evm.Address{19: 4} }, "a contract of the network (a precompile)"},
		"to_a_predeploy":              {func(r *Request) { r.To = evm.Address{0: 0x42, 19: 6} }, "a contract of the network"},
		"to_a_token":                  {func(r *Request) { r.To = plantest.Address(usdcBase) }, "is the contract of the token USDC-BASE"},
		"to_a_token_of_another_chain": {func(r *Request) { r.To = plantest.Address("0xdAC17F958D2ee523a2206206994597C13D831ec7") }, "is the contract of the token USDT"},
		"to_an_invoice":               {func(r *Request) { r.To = invoice }, "is an address for invoices"},
		"to_an_address_of_the_wallet": {func(r *Request) { r.To = s.addresses[2] }, "is an address for invoices"},
		"to_multicall":                {func(r *Request) { r.To = evm.Multicall3 }, "Multicall3"},
		"of_an_unknown_asset":         {func(r *Request) { r.Assets = []string{"DOGE"} }, `"DOGE" is not an asset on Base that is watched`},
		"of_an_unknown_wallet":        {func(r *Request) { r.Wallet = "x" }, `the shop has no ETH wallet "x"`},
		"without_holdings":            {func(r *Request) { r.Assets = []string{"ETH-BASE"} }, "there is nothing to sweep"},
		"with_an_address_as_payer":    {func(r *Request) { r.Payer = &s.addresses[1] }, "the payer is refused"},
		"with_an_invoice_as_payer":    {func(r *Request) { r.Payer = &invoice }, "the payer is refused"},
		"with_a_later_one_as_payer":   {func(r *Request) { r.Payer = &later }, "the payer is refused"},
		"to_a_later_address":          {func(r *Request) { r.To = later }, "is an address for invoices"},
		"with_a_payer_without_coin":   {func(r *Request) { r.Payer = &payer }, "its transactions may take"},
		"for_a_wrong_share":           {func(r *Request) { r.SkipAbove = "two" }, `--skip-above "two"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := request()
			tt.change(&r)
			if _, err := s.draft(t, r); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
	t.Run("to_a_contract_unless_accepted", func(t *testing.T) {
		r := request()
		r.To = parseAddress(t, s.Deploy(t, ethereumtest.Forwards))
		contract := (*ContractError)(nil)
		if _, err := s.draft(t, r); !errors.As(err, &contract) {
			t.Errorf("error %v, want a ContractError", err)
		}
		r.AcceptContract = true
		s.mustDraft(t, r)
	})
	t.Run("for_a_fee_above_the_limit_unless_accepted", func(t *testing.T) {
		s.mint(t, usdcBase, s.addresses[1], 10_000)
		s.deepen(t)
		r := request()
		r.SkipAbove, r.Assets = "99", []string{"USDC-BASE"}
		if _, err := s.draft(t, r); err == nil || !strings.Contains(err.Error(), "more than 5 %") {
			t.Errorf("error %v, want one about the fee", err)
		}
		r.AcceptFee = true
		s.mustDraft(t, r)
	})
	t.Run("without_multicall", func(t *testing.T) {
		var code string
		s.Call(t, &code, "eth_getCode", evm.Multicall3.String(), "latest")
		s.Call(t, nil, "anvil_setCode", evm.Multicall3.String(), "0x")
		s.MineBlock(t)
		if _, err := s.draft(t, request()); err == nil || !strings.Contains(err.Error(), "has no contract Multicall3") {
			t.Errorf("error %v, want one about Multicall3", err)
		}
		s.Call(t, nil, "anvil_setCode", evm.Multicall3.String(), code)
		s.MineBlock(t)
	})
	t.Run("to_a_blocked_address", func(t *testing.T) {
		s.MineBlock(t, s.Transact(t, eurcBase, ethereumtest.Data("setBlocked(address,uint256)", plantest.To, big.NewInt(1))))
		if _, err := s.draft(t, request()); err == nil || !strings.Contains(err.Error(), "the issuer of EURC has blocked "+plantest.To) {
			t.Errorf("error %v, want one about the block", err)
		}
	})
}

// parseAddress parses an address that may have no checksum.
func parseAddress(t *testing.T, text string) evm.Address {
	t.Helper()
	a, err := evm.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// signPlan signs a plan with the words of the wallet and of the payer.
func signPlan(t *testing.T, p plan.Plan) plan.Signed {
	t.Helper()
	w, err := sign.Open([]byte(words), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var o sign.Options
	if p.Payer != nil {
		if o.Payer, err = plan.ParsePath(payerPath); err != nil {
			t.Fatal(err)
		}
	}
	signer, err := sign.NewSigner(p, w, o)
	if err != nil {
		t.Fatal(err)
	}
	defer signer.Close()
	signed, err := signer.Sign()
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// The gas of the plan suffices for 50 authorizations, and is at most half more than what they use.
func TestPlan_of_50_rows_moves_them_when_it_is_signed_and_sent(t *testing.T) {
	t.Parallel()
	const count = 50
	s := newShop(t, count)
	want := new(big.Int)
	for i, a := range s.addresses {
		units := int64(5_000_000 + i)
		s.mint(t, eurcBase, a, units)
		want.Add(want, big.NewInt(units))
	}
	s.fund(t, payer, 1000)
	s.deepen(t)
	r := request()
	r.Payer = &payer
	d := s.mustDraft(t, r)
	if len(d.Plan.Rows) != count || len(d.Plan.Payer.Carriers) != 1 {
		t.Fatalf("the plan has %d rows and %d carrying transactions, want %d and 1", len(d.Plan.Rows), len(d.Plan.Payer.Carriers), count)
	}
	if err := s.planner.Record(t.Context(), "shop", d); err != nil || len(s.storage.recorded) != 1 || s.storage.recorded[0].Plan.ID != d.Plan.ID {
		t.Fatalf("recorded %d plans, error %v", len(s.storage.recorded), err)
	}
	var tx string
	s.Call(t, &tx, "eth_sendRawTransaction", signPlan(t, d.Plan).Payer[0])
	s.MineBlock(t)
	var receipt struct{ Status, GasUsed string }
	s.Call(t, &receipt, "eth_getTransactionReceipt", tx)
	used, _ := new(big.Int).SetString(receipt.GasUsed, 0)
	if receipt.Status != "0x1" || s.Read(t, eurcBase, ethereumtest.Data("balanceOf(address)", plantest.To)).Cmp(want) != 0 {
		t.Errorf("status %s, the destination does not hold %s", receipt.Status, want)
	}
	if planned := int64(d.Plan.Payer.Carriers[0].Gas); used.Int64() > planned || used.Int64()*3 < planned*2 {
		t.Errorf("%d gas is planned, and %d used", planned, used)
	}
	if _, err := s.draft(t, r); !errors.Is(err, errNothing) {
		t.Errorf("the next plan: error %v, want %v", err, errNothing)
	}
}

func TestPlan_divides_many_rows_among_transactions(t *testing.T) {
	t.Parallel()
	d := &drafting{fees: gasFees{base: 40_000, row: map[string]uint64{"A": 42_700, "B": 200_000}, first: map[string]uint64{"A": 17_100, "B": 17_100}}}
	for i := range 250 {
		code := "A"
		if i >= 230 {
			code = "B"
		}
		d.rows = append(d.rows, row{way: plan.ByAuthorization, holding: holding{asset: chain.Asset{Code: code}}})
	}
	rows := 0
	carriers := d.carriers()
	for _, c := range carriers {
		if rows += c.Rows; c.Rows > carriedRows || c.Gas > carriedGas {
			t.Errorf("a transaction carries %d rows with %d gas", c.Rows, c.Gas)
		}
	}
	if rows != 250 || len(carriers) != 3 {
		t.Errorf("%d transactions carry %d rows, want 3 and 250", len(carriers), rows)
	}
}
