package sweep

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
)

// checkDestination refuses destinations that would lose the money, or make it count as a payment.
func (d *drafting) checkDestination(ctx context.Context) error {
	if err := plan.CheckDestination(d.To); err != nil {
		return fmt.Errorf("the destination is refused: %w", err)
	}
	if code := tokenAt(d.To, slices.Concat(d.evm.Assets(), d.evm.Bridged())); code != "" {
		return fmt.Errorf("the destination is refused: %s is the contract of the token %s", d.To, code)
	}
	isDestination, err := d.storage.IsDestination(ctx, script(d.To))
	if err != nil {
		return err
	}
	if isDestination {
		return errOwnAddress(d.To)
	}
	if d.Payer != nil {
		isDestination, err := d.storage.IsDestination(ctx, script(*d.Payer))
		if err != nil {
			return err
		}
		if isDestination {
			return errOwnPayer(*d.Payer)
		}
	}
	best, err := d.evm.Quorum.Best(ctx)
	if err != nil {
		return err
	}
	d.tip = best.Header
	codes, err := d.evm.Quorum.Codes(ctx, d.tip, []evm.Address{d.To, evm.Multicall3})
	if err != nil {
		return fmt.Errorf("read the code of the destination: %w", err)
	}
	if len(codes[1]) == 0 {
		return fmt.Errorf("%s has no contract Multicall3 at %s", d.network.Name, evm.Multicall3)
	}
	if len(codes[0]) > 0 && !d.AcceptContract {
		return &ContractError{d.To, d.network.Name}
	}
	return nil
}

// errOwnAddress returns the error for an address of the wallets as destination.
func errOwnAddress(a evm.Address) error {
	return fmt.Errorf("the destination is refused: %s is an address for invoices, so the sweep would count as a payment", a)
}

// errOwnPayer returns the error for an address of the wallets as payer.
func errOwnPayer(a evm.Address) error {
	return fmt.Errorf("the payer is refused: %s is an address for invoices, so coin for fees there would count as a payment", a)
}

// script returns an address in the form of the storage: 0x and lower case.
func script(a evm.Address) string { return "0x" + hex.EncodeToString(a[:]) }

// tokenAt returns the code of the token whose contract an address is, on any network, or among others; "" if it is none.
func tokenAt(a evm.Address, others []chain.Asset) string {
	for _, n := range ethereum.Networks {
		others = slices.Concat(others, n.Assets, n.More, n.Bridged)
	}
	for _, asset := range others {
		if strings.EqualFold(asset.Contract, a.String()) {
			return asset.Code
		}
	}
	return ""
}
