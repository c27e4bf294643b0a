package sweep

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
	"chequer/internal/evm"
	"chequer/internal/money"
	"chequer/internal/networks"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
	"chequer/internal/token"
)

// PlanStorage is a Storage that knows the addresses of invoices and records plans.
type PlanStorage interface {
	Storage
	// IsDestination reports whether a script is that of an invoice, of any merchant.
	IsDestination(ctx context.Context, script string) (bool, error)
	// WatchedScripts returns those of the scripts on a network that are watched at a time.
	WatchedScripts(ctx context.Context, network chain.ID, scripts []string, at time.Time) ([]string, error)
	// AddSweep records a new plan.
	AddSweep(ctx context.Context, s recorded.Sweep) error
}

// Rates returns the price of a currency; see invoice.Rates.
type Rates interface {
	Rate(code string, coin, fiat money.Currency) (money.Rate, error)
}

// Request has the options of a plan.
type Request struct {
	MerchantID string
	To         evm.Address
	Wallet     string        // ID; empty for the only wallet with holdings
	Assets     []string      // codes; empty for all
	SkipAbove  string        // the highest share of a row's fee in its amount, in per cent
	Payer      *evm.Address  // nil if a browser wallet submits the authorizations
	Validity   time.Duration // of the signatures
	// Fund includes tokens without authorizations: the payer sends the coin for the fees to their addresses.
	Fund bool
	// AlsoWatched includes coins at addresses that are watched for later payments.
	AlsoWatched bool
	// AcceptContract allows a destination with code.
	AcceptContract bool
	// AcceptFee allows a fee above maxFeePercent.
	AcceptFee bool
}

// Draft is a plan that is made.
type Draft struct {
	Plan plan.Plan
	// Unseen are the addresses at which a later payment in the coin could not be seen.
	Unseen []evm.Address
	// Left is the number of holdings that are left for a later plan, because a plan has at most plan.MaxRows rows.
	Left int
}

// Limits of plans.
const (
	maxFeePercent = 5    // the highest share of the fee in the sum, in per cent
	maxSkipped    = 3000 // amounts that a plan lists as skipped, so that its file stays small
)

// ContractError means that the destination is a contract.
type ContractError struct {
	To      evm.Address
	Network string
}

// Error implements error.
func (e *ContractError) Error() string {
	return fmt.Sprintf("%s is a contract on %s; if it can receive and send these amounts, say --anyway", e.To, e.Network)
}

// errNothing means that there is nothing to sweep.
var errNothing = errors.New("there is nothing to sweep")

// Planner makes plans on one network. It is not safe for concurrent use.
type Planner struct {
	storage PlanStorage
	evm     networks.EVM
	network plan.Network
	rates   Rates
	now     func() time.Time
}

// NewPlanner returns a new planner. It returns an error if the network is not watched, or if no endpoint may be queried by address.
func NewPlanner(c config.Config, network chain.ID, s PlanStorage, rates Rates, now func() time.Time) (*Planner, error) {
	e, err := queryableEVM(c, network, now)
	if err != nil {
		return nil, err
	}
	known, isKnown := plan.NetworkByID(string(network))
	if !isKnown {
		return nil, fmt.Errorf("%s has no sweeps", network)
	}
	return &Planner{storage: s, evm: e, network: known, rates: rates, now: now}, nil
}

// drafting is the work on one plan.
type drafting struct {
	*Planner
	Request
	madeAt  time.Time
	tip     ethereum.Header
	final   ethereum.Header // the block of the plan
	total   *big.Rat        // value of the rows, in euro
	rows    []row
	skipped []plan.Skipped
	fees    gasFees
	unseen  []evm.Address
	left    int
}

// row is an amount that the plan may move.
type row struct {
	holding
	way    plan.Way
	domain evm.Domain
	rate   money.Rate // of the asset in euro
	fee    *big.Int   // the most that the row costs alone, in the coin's smallest units
	cost   plan.Cost  // of the transaction of the address
	// funding is the amount that the payer sends to the address of a row whose way is fund, in the coin's smallest units.
	funding *big.Int
	isNew   bool // the address of such a row is no account yet
}

// sends reports whether the address of the row sends a transaction.
func (r row) sends() bool { return r.way == plan.ByOwn || r.way == plan.ByFunding }

// value returns the value of an amount of a row's asset, in euro.
func (r row) value(units *big.Int) *big.Rat {
	return r.rate.Value(money.FromMinor(units, r.asset.Currency))
}

// Draft makes a plan and does not record it. Its errors are sentences for the operator; one is a *ContractError.
func (p *Planner) Draft(ctx context.Context, r Request) (Draft, error) {
	d := &drafting{Planner: p, Request: r, madeAt: p.now().UTC().Truncate(time.Second)}
	if d.Fund && d.Payer == nil {
		return Draft{}, errors.New("--fund needs --payer: the payer sends the coin for the fees")
	}
	for _, step := range []func(context.Context) error{
		d.checkDestination, d.readHoldings, d.chooseWays, d.keepFinal, d.skipBlocked, d.skipWatched, d.skipSecond,
		d.readFees, d.priceTokens, d.priceCoins, d.priceFunded, d.skipExpensive,
	} {
		if err := step(ctx); err != nil {
			return Draft{}, err
		}
	}
	made, err := d.assemble(ctx)
	if err != nil {
		return Draft{}, err
	}
	return Draft{Plan: made, Unseen: d.unseen, Left: d.left}, nil
}

// Record records a plan of a merchant.
func (p *Planner) Record(ctx context.Context, merchantID string, d Draft) error {
	return p.storage.AddSweep(ctx, recorded.New(merchantID, d.Plan))
}

// idLength is the number of letters and digits of the ID of a plan after its prefix.
const idLength = 20

// newID returns the ID of a new plan.
func newID() string { return "swp_" + token.New(idLength) }

// skip removes the rows for which why returns a reason, and lists them as skipped.
func (d *drafting) skip(why func(row) plan.Reason) {
	var kept []row
	for _, r := range d.rows {
		reason := why(r)
		if reason == "" {
			kept = append(kept, r)
			continue
		}
		d.note(r.holding, r.units, reason)
	}
	d.rows = kept
}

// note lists an amount as skipped.
func (d *drafting) note(h holding, units *big.Int, why plan.Reason) {
	d.skipped = append(d.skipped, plan.Skipped{From: h.address, Asset: h.asset.Code, Amount: units, Why: why})
}

// noRows returns errNothing with the reasons if there are no rows.
func (d *drafting) noRows() error {
	if len(d.rows) > 0 {
		return nil
	}
	if len(d.skipped) == 0 {
		return errNothing
	}
	return fmt.Errorf("%w: %s", errNothing, plan.SkippedText(d.skipped, d.SkipAbove))
}
