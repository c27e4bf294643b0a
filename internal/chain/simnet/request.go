package simnet

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning/bolt11"
	"chequer/internal/money"
)

// PaymentRequest is a payment request of Lightning in storage.
type PaymentRequest struct {
	Hash     string // payment hash, in hexadecimal digits
	Satoshis int64  // least amount of a payment
	Until    time.Time
	State    RequestState
}

// RequestState is the state of a payment request.
type RequestState string

// The states of payment requests. Only an open one can be paid.
const (
	Open      RequestState = "open"
	Cancelled RequestState = "cancelled"
	Settled   RequestState = "settled"
)

const (
	// requestNetwork is the currency prefix of the requests: regtest.
	requestNetwork = "bcrt"
	// minLife is the least time that a new request lasts.
	minLife = time.Minute
	// keepRequests is the time for which a request that ended is kept.
	keepRequests = 24 * time.Hour
	// finalCLTV is the value that lnd puts into its requests.
	finalCLTV = 80
)

// requestFeatures are the feature bits of BOLT 9: onion of variable length and payment secret required, multi-part
// payments possible.
var requestFeatures = []int{8, 14, 17}

// RequestNetwork implements chain.Requester.
func (n *Network) RequestNetwork() string { return requestNetwork }

// Ask implements chain.Requester. It makes requests for every connection.
func (n *Network) Ask(ctx context.Context, ask chain.Ask) (chain.Offer, error) {
	offer, err := n.ask(ctx, ask)
	if err != nil {
		return chain.Offer{}, fmt.Errorf("simnet: %w", err)
	}
	return offer, nil
}

func (n *Network) ask(ctx context.Context, ask chain.Ask) (chain.Offer, error) {
	now := n.now()
	r, err := newRequest(ask, now)
	if err != nil {
		return chain.Offer{}, err
	}
	key, err := n.signingKey(ctx)
	if err != nil {
		return chain.Offer{}, err
	}
	text, err := r.Sign(key)
	if err != nil {
		return chain.Offer{}, err
	}
	to, _, err := chain.ReadRequest(text)
	if err != nil {
		return chain.Offer{}, err
	}
	stored := PaymentRequest{Hash: to.Script, Satoshis: r.MilliSatoshi / chain.MilliSatoshisPerSatoshi, Until: r.Ends(), State: Open}
	if err := n.storage.AddSimnetRequest(ctx, stored, now.Add(-keepRequests)); err != nil {
		return chain.Offer{}, err
	}
	return chain.Offer{Destination: to, Until: r.Ends()}, nil
}

// newRequest returns a request with the hash of a random preimage, which is not kept: simnet settles requests without
// it.
func newRequest(ask chain.Ask, now time.Time) (bolt11.Request, error) {
	if len(ask.Memo) > chain.MaxMemo {
		return bolt11.Request{}, fmt.Errorf("the description has %d bytes, more than %d", len(ask.Memo), chain.MaxMemo)
	}
	amount, err := ask.MilliSatoshi()
	if err != nil {
		return bolt11.Request{}, err
	}
	made, until := now.UTC().Truncate(time.Second), now.Add(minLife)
	if ask.Until.After(until) {
		until = ask.Until
	}
	r := bolt11.Request{
		Network: requestNetwork, MilliSatoshi: amount, Time: made, Expiry: (until.Sub(made) + time.Second - 1).Truncate(time.Second),
		Description: ask.Memo, FinalCLTV: finalCLTV, Features: requestFeatures,
	}
	var preimage [32]byte
	rand.Read(preimage[:]) // never fails, see crypto/rand
	rand.Read(r.PaymentSecret[:])
	r.PaymentHash = sha256.Sum256(preimage[:])
	return r, nil
}

// signingKey returns the key that signs the requests. All processes have the same.
func (n *Network) signingKey(ctx context.Context) (*btcec.PrivateKey, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.signer != nil {
		return n.signer, nil
	}
	fresh, err := btcec.NewPrivateKey()
	if err != nil {
		return nil, err
	}
	stored, err := n.storage.SimnetKey(ctx, fresh.Serialize())
	if err != nil {
		return nil, err
	}
	n.signer, _ = btcec.PrivKeyFromBytes(stored)
	return n.signer, nil
}

// Cancel implements chain.Requester.
func (n *Network) Cancel(ctx context.Context, hash string) error {
	err := n.updateRequest(ctx, hash, func(_ *Chain, r *PaymentRequest) error {
		if r.State == Open {
			r.State = Cancelled
		}
		return nil
	})
	if errors.Is(err, ErrUnknownRequest) {
		return nil
	}
	return err
}

// settle pays a request, which is its text or its payment hash. The payment is in a block of its own at once, which
// contains no other transaction. The error is ErrUnpayable if the request cannot be paid, or not with the amount.
func (n *Network) settle(ctx context.Context, asset chain.Asset, request string, amount money.Amount) (hash string, err error) {
	hash = strings.ToLower(request)
	if to, _, err := chain.ReadRequest(request); err == nil {
		hash = to.Script
	}
	return hash, n.updateRequest(ctx, hash, func(c *Chain, r *PaymentRequest) error {
		now := n.now()
		if err := r.check(amount, now); err != nil {
			return err
		}
		r.State = Settled
		b := c.addBlock(now)
		c.Txs = append(c.Txs, Tx{ID: hash, Seen: now, Height: b.Height, Outputs: []Output{OutputTo(asset, hash, amount)}})
		return nil
	})
}

// check returns an error if a request cannot be paid with an amount.
func (r *PaymentRequest) check(amount money.Amount, now time.Time) error {
	switch {
	case r.State == Settled:
		return fmt.Errorf("%w: it is already paid", ErrUnpayable)
	case r.State == Cancelled:
		return fmt.Errorf("%w: it was cancelled", ErrUnpayable)
	case !now.Before(r.Until):
		return fmt.Errorf("%w: it ended at %s", ErrUnpayable, r.Until.UTC().Format(time.RFC3339))
	case amount.Minor().Cmp(big.NewInt(r.Satoshis)) < 0:
		return fmt.Errorf("%w: it asks for %s %s, and not for less", ErrUnpayable, money.FromCents(r.Satoshis, money.BTC), money.BTC.Code)
	}
	return nil
}

// updateRequest changes a request together with the newest part of the chain, and sends a wake-up. The error for an
// unknown request is ErrUnknownRequest.
func (n *Network) updateRequest(ctx context.Context, hash string, change func(*Chain, *PaymentRequest) error) error {
	return n.write(ctx, func(above int64) error {
		return n.storage.UpdateSimnetRequest(ctx, hash, above, func(c *Chain, r *PaymentRequest) error {
			c.begin(n.now())
			return change(c, r)
		})
	})
}
