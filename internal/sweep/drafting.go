package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/evm"
	"chequer/internal/money"
	"chequer/internal/sweep/plan"
)

// laterAddresses is the number of addresses after those that are issued which are neither destination nor payer, because an invoice may get
// one of them before the plan is sent.
const laterAddresses = 1000

// readHoldings reads the holdings at the newest block, of the assets and of the wallet of the request.
func (d *drafting) readHoldings(ctx context.Context) error {
	var codes []string
	for _, a := range slices.Concat(d.evm.Assets(), d.evm.Bridged()) {
		codes = append(codes, a.Code)
	}
	for _, code := range d.Assets {
		if !slices.Contains(codes, code) {
			return fmt.Errorf("%q is not an asset on %s that is watched; these are %s", code, d.network.Name, strings.Join(codes, ", "))
		}
	}
	wallets, err := issuedWallets(ctx, d.storage, d.MerchantID)
	if err != nil {
		return err
	}
	for _, w := range wallets {
		issued, err := addresses(w.key, 0, min(w.issued+laterAddresses, plan.Hardened))
		if err != nil {
			return err
		}
		if slices.Contains(issued, d.To) {
			return errOwnAddress(d.To)
		}
		if d.Payer != nil && slices.Contains(issued, *d.Payer) {
			return errOwnPayer(*d.Payer)
		}
	}
	if d.Wallet != "" {
		wallets = slices.DeleteFunc(wallets, func(w issuedWallet) bool { return w.id != d.Wallet })
		if len(wallets) == 0 {
			return fmt.Errorf("the shop has no ETH wallet %q: see chequer wallet list", d.Wallet)
		}
	}
	found, err := readWallets(ctx, d.evm, d.tip, wallets)
	if err != nil {
		return err
	}
	for _, h := range found {
		if len(d.Assets) == 0 || slices.Contains(d.Assets, h.asset.Code) {
			d.rows = append(d.rows, row{holding: h})
		}
	}
	return d.checkWallet()
}

// checkWallet returns an error if the holdings belong to several wallets, because a plan is signed with the words of one.
func (d *drafting) checkWallet() error {
	var ids []string
	for _, r := range d.rows {
		if !slices.Contains(ids, r.wallet) {
			ids = append(ids, r.wallet)
		}
	}
	if len(ids) > 1 {
		return fmt.Errorf("the holdings belong to %d wallets, and a plan to one: choose with --wallet %s", len(ids), strings.Join(ids, " or "))
	}
	return d.noRows()
}

// keepFinal chooses the block of the plan, and reduces the rows to what they held after it. The block is as deep as the payment policy
// requires for the largest row.
func (d *drafting) keepFinal(ctx context.Context) error {
	if err := d.readRates(); err != nil {
		return err
	}
	depth := 0
	for _, r := range d.rows {
		depth = max(depth, r.asset.Policy.Confirmations(wholeCents(r.value(r.units))))
	}
	if err := d.chooseBlock(ctx, depth); err != nil {
		return err
	}
	final, err := d.balancesAt(ctx, d.final)
	if errors.Is(err, ethereum.ErrNoState) {
		return fmt.Errorf("no endpoint has the balances of block %d, %d blocks below the newest: add one that keeps them to %s", d.final.Height, d.tip.Height-d.final.Height, d.network.Name)
	}
	if err != nil {
		return fmt.Errorf("read the balances of block %d: %w", d.final.Height, err)
	}
	for i := range d.rows {
		r := &d.rows[i]
		if missing := new(big.Int).Sub(r.units, final[i]); missing.Sign() > 0 {
			d.note(r.holding, missing, plan.NotFinal)
			r.units = final[i]
		}
	}
	d.rows = slices.DeleteFunc(d.rows, func(r row) bool { return r.units.Sign() == 0 })
	return d.noRows()
}

// readRates sets the prices of the assets of the rows. A token from a bridge has that of the original token, and is skipped if there is none,
// because it is no payment method.
func (d *drafting) readRates() error {
	unpriced := map[string]bool{} // by code of the asset
	for i := range d.rows {
		r := &d.rows[i]
		var err error
		r.rate, err = d.rates.Rate(cmp.Or(r.asset.Rate, r.asset.BridgeOf), r.asset.Currency, money.EUR)
		switch {
		case err == nil:
		case r.asset.BridgeOf != "":
			unpriced[r.asset.Code] = true
		default:
			return fmt.Errorf("the value of %s in euro is unknown, so the share of the fee is: %w", r.asset.Code, err)
		}
	}
	d.skip(func(r row) plan.Reason {
		if unpriced[r.asset.Code] {
			return plan.Unpriced
		}
		return ""
	})
	return d.noRows()
}

// chooseBlock sets the block of the plan: the newest that has a number of confirmations, or that the network calls final.
func (d *drafting) chooseBlock(ctx context.Context, depth int) error {
	best, err := d.evm.Quorum.Best(ctx)
	if err != nil {
		return err
	}
	d.tip = best.Header
	height := max(best.Height-int64(depth)+1, best.Final)
	if height < 1 {
		return fmt.Errorf("%s has %d blocks, fewer than the %d confirmations that the amounts need", d.network.Name, best.Height, depth)
	}
	headers, err := d.evm.Quorum.Headers(ctx, height, height)
	if err != nil {
		return fmt.Errorf("read block %d: %w", height, err)
	}
	d.final = headers[0]
	return nil
}

// balancesAt returns the balances of the rows after a block, in the order of the rows.
func (d *drafting) balancesAt(ctx context.Context, at ethereum.Header) ([]*big.Int, error) {
	all := make([]*big.Int, len(d.rows))
	for _, indexes := range d.byAsset() {
		for batch := range slices.Chunk(indexes, balanceBatch) {
			var accounts []evm.Address
			for _, i := range batch {
				accounts = append(accounts, d.rows[i].address)
			}
			units, err := balances(ctx, d.evm, at, d.rows[batch[0]].asset, accounts)
			if err != nil {
				return nil, err
			}
			for n, i := range batch {
				all[i] = units[n]
			}
		}
	}
	return all, nil
}

// byAsset returns the indexes of the rows of each asset, in the order in which the assets first appear.
func (d *drafting) byAsset() [][]int {
	var order []string
	groups := map[string][]int{}
	for i, r := range d.rows {
		code := r.asset.Code
		if groups[code] == nil {
			order = append(order, code)
		}
		groups[code] = append(groups[code], i)
	}
	var list [][]int
	for _, code := range order {
		list = append(list, groups[code])
	}
	return list
}

// skipWatched skips the rows whose addresses send a transaction and are watched: the transaction raises the nonce, and later coins at an address
// whose nonce was raised conclude no payment. A funded row is skipped in any case, because the coin for its fee would count as a payment.
func (d *drafting) skipWatched(ctx context.Context) error {
	var scripts []string
	for _, r := range d.rows {
		if r.sends() {
			scripts = append(scripts, script(r.address))
		}
	}
	if len(scripts) == 0 {
		return nil
	}
	watched, err := d.storage.WatchedScripts(ctx, chain.ID(d.network.ID), scripts, d.madeAt)
	if err != nil {
		return err
	}
	isWatched := func(r row) bool { return r.sends() && slices.Contains(watched, script(r.address)) }
	d.skip(func(r row) plan.Reason {
		if isWatched(r) && (!d.AlsoWatched || r.way == plan.ByFunding) {
			return plan.Watched
		}
		return ""
	})
	for _, r := range d.rows {
		if isWatched(r) {
			d.unseen = append(d.unseen, r.address)
		}
	}
	return d.noRows()
}

// skipSecond skips the rows whose address sends the transaction of another row: that of the coin if a token of the address is funded, and other
// funded tokens. If one transaction failed, the next would wait for it.
func (d *drafting) skipSecond(context.Context) error {
	chosen := map[evm.Address]string{} // code of the asset
	for _, r := range d.rows {
		if _, isChosen := chosen[r.address]; r.way == plan.ByFunding && !isChosen {
			chosen[r.address] = r.asset.Code
		}
	}
	d.skip(func(r row) plan.Reason {
		if code, isChosen := chosen[r.address]; isChosen && r.sends() && code != r.asset.Code {
			return plan.Later
		}
		return ""
	})
	return nil
}

// wholeCents returns a value in euro as whole cents, rounded up.
func wholeCents(euro *big.Rat) int64 {
	cents := money.RoundUp(euro, money.EUR)
	if !cents.HasCents() {
		return 1<<63 - 1
	}
	return cents.Cents()
}
