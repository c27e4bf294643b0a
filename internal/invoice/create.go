package invoice

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// CreateRequest is a request for a new invoice.
type CreateRequest struct {
	ID         string // of the new invoice, made by Service.NewID; "" = a new one
	MerchantID string
	Mode       Mode
	Origin     Origin
	Wallets    []Wallet
	Terms      Terms
	Tolerance  Tolerance // becomes an amount in the terms
	// DepthSteps is the number of ranges of amounts by which payments need more confirmations than
	// the policies of the networks require; see chain.Policy.Deeper.
	DepthSteps int
	// ZeroConfirmationCents are the zero-confirmation caps by asset; see chain.Policy.
	ZeroConfirmationCents map[string]int64
	// AllowPaidExpired is the value that the request states for the terms; nil if it states none.
	AllowPaidExpired *bool
	ExpiresIn        time.Duration
	PaymentMethods   []string // asset codes, in the order in which they are offered; empty = DefaultMethods
	DefaultMethods   []string // the merchant's selection; unknown codes are ignored; empty = all, in the default order
	Key              IdempotencyKey
	BodyHash         string
	Nonce            Nonce
	Order            Order
	Link             LinkUse
	// UnpaidLimits apply to callers that do not sign with the merchant's key.
	UnpaidLimits []UnpaidLimit
	// PluginMetadata is the metadata that a shop plug-in keeps with the invoice; see PluginData.
	PluginMetadata []byte

	source, evidence string // source of the prices, and the name of their evidence
}

// Wallet is a public key of the merchant from which destinations are derived.
type Wallet struct {
	Asset   string // kind: BTC, LTC, ETH
	Key     string // in a format that package keys parses
	Counter string // names the index counter: key fingerprint and branch
}

// maxVolatileQuote is the longest duration of a quote for a volatile asset.
const maxVolatileQuote = time.Hour

// pricedMethod is a payment method that has a price, and whose network can carry the amount.
type pricedMethod struct {
	network chain.Network
	asset   chain.Asset
	wallet  Wallet
	price   Price
	watched bool
	// unreached means that no scan of the network succeeded recently. The method is kept if a provider makes and finds a payment
	// request for the invoice: scans may fail because of a request of another invoice.
	unreached bool
}

// Create makes an invoice with every payment method that can be offered now. It calls no network but the
// provider of a connection, which it asks for a payment request. It waits up to requestWait for the
// request; a later one is added to the invoice. The errors are ErrNoWallet, ErrUnwatched, *UnknownMethodError, ErrNoMethod,
// ErrUnreached, ErrTooLong, ErrTooLarge, *NoRateError, *TooSmallError, *TooManyUnpaidError and ErrConflict.
//
// For a known idempotency key Create returns the invoice that was made with the key. The caller must
// call Replay first, because Create fails if no method can be offered now. If the order already has
// an invoice other than Order.After, Create returns the invoice that Ordered returns.
func (s *Service) Create(ctx context.Context, r CreateRequest) (*Invoice, error) {
	if err := s.checkMethodsExist(r); err != nil {
		return nil, err
	}
	rates := s.rates()
	progress, err := s.storage.RecentProgress(ctx)
	if err != nil {
		return nil, fmt.Errorf("create invoice: %w", err)
	}
	priced, err := s.pricedMethods(r, r.Terms.Price, rates, progress)
	if err != nil {
		return nil, err
	}
	id, now, evidence := cmp.Or(r.ID, s.newID()), s.now(), rates.Evidence(r.Terms.Price.Currency(), rateCodes(priced)...)
	r.source, r.evidence = rates.Source(), evidenceName(evidence)
	creation := Creation{
		MerchantID: r.MerchantID, Key: r.Key, BodyHash: r.BodyHash, At: now, Nonce: r.Nonce, Order: r.Order, Link: r.Link,
		Mode: r.Mode, UnpaidLimits: r.UnpaidLimits,
		EvidenceName: r.evidence, Evidence: evidence, PluginMetadata: r.PluginMetadata,
	}
	s.prederive(priced)
	var requested creationCalls
	if r.requestsAtOnce(priced) {
		inv, replayed, err := s.storage.CheckCreation(ctx, creation)
		switch {
		case err != nil:
			return nil, fmt.Errorf("create invoice: %w", err)
		case replayed:
			return inv, nil
		}
		requested = s.requestForNew(id, r, priced, now)
		if priced, err = requested.withoutRefused(priced, r.Terms.Price.Currency()); err != nil {
			return nil, err
		}
		if priced, err = requested.withoutUnreached(priced); err != nil {
			return nil, fmt.Errorf("create invoice: %w", err)
		}
	}
	creation.Build = func(next NextIndex) (*Invoice, error) {
		return s.build(id, now, r, priced, requested.made, progress, next)
	}
	inv, replayed, err := s.storage.CreateInvoice(ctx, creation)
	if err != nil || replayed {
		requested.discard(err)
	}
	if err != nil {
		return nil, fmt.Errorf("create invoice: %w", err)
	}
	if !replayed {
		requested.attachLate(inv.ID)
		for i, m := range inv.Methods {
			if !m.Asset.Requested() {
				s.predictor.correct(priced[i].wallet.Counter, m.Index)
			}
		}
		s.log.Info("invoice created", "invoice", inv.ID, "mode", inv.Mode, "methods", len(inv.Methods))
	}
	return inv, nil
}

// NewID returns an identifier for a CreateRequest whose terms contain it.
func (s *Service) NewID() string { return s.newID() }

// Creatable returns the reason why Create can offer no method for a request now, or nil.
func (s *Service) Creatable(ctx context.Context, r CreateRequest) error {
	progress, err := s.storage.RecentProgress(ctx)
	if err != nil {
		return err
	}
	_, err = s.pricedMethods(r, r.Terms.Price, s.rates(), progress)
	return err
}

// Replay returns the invoice that was made with an idempotency key. It returns ErrNotFound if there is no
// such invoice, and ErrConflict if the key was used with another body.
func (s *Service) Replay(ctx context.Context, merchantID string, key IdempotencyKey, bodyHash string) (*Invoice, error) {
	inv, err := s.storage.Replay(ctx, Creation{MerchantID: merchantID, Key: key, BodyHash: bodyHash, At: s.now()})
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	return inv, nil
}

// Ordered returns an invoice of an order: an invoice that is paid at the order's price, otherwise another
// paid invoice, otherwise the newest invoice. It returns ErrNotFound if the order has no invoice.
func (s *Service) Ordered(ctx context.Context, o Order) (*Invoice, error) {
	return s.storage.OrderedInvoice(ctx, o)
}

// build makes the invoice inside the transaction that allocates its destination indexes.
func (s *Service) build(id string, now time.Time, request CreateRequest, priced []pricedMethod, made []PaymentRequest, progress map[chain.ID]Progress, next NextIndex) (*Invoice, error) {
	inv := &Invoice{
		ID: id, MerchantID: request.MerchantID, Mode: request.Mode, Version: 1, CreatedAt: now, Origin: request.Origin, Terms: request.Terms,
		Quotes: []Quote{{
			Number: 1, From: now, Until: now.Add(request.ExpiresIn), Due: request.Terms.Price,
			Source: request.source, Evidence: request.evidence, Requests: made,
		}},
	}
	inv.Methods = make([]Method, 0, len(priced))
	inv.Quotes[0].Prices = make([]Price, 0, len(priced))
	indexes := map[string]uint32{}
	inv.Terms.Lightning = LightningTerms{}
	for _, m := range priced {
		if m.asset.Requested() {
			inv.Terms.Lightning = request.Terms.Lightning
			inv.Methods = append(inv.Methods, Method{Asset: m.asset, Watched: m.watched})
			inv.Quotes[0].Prices = append(inv.Quotes[0].Prices, m.price)
			continue
		}
		index, known := indexes[m.wallet.Counter]
		if !known {
			var err error
			if index, err = next(m.wallet.Counter); err != nil {
				return nil, err
			}
			indexes[m.wallet.Counter] = index
		}
		destination, err := m.network.NewDestination(chain.Request{Asset: m.asset, Key: m.wallet.Key, Index: index})
		if err != nil {
			return nil, fmt.Errorf("destination for %s: %w", m.asset.Code, err)
		}
		asset := m.asset
		asset.Policy = asset.Policy.Deeper(request.DepthSteps)
		asset.Policy.ZeroConfirmationCents = request.ZeroConfirmationCents[asset.Code]
		inv.Methods = append(inv.Methods, Method{
			Asset: asset, Destination: destination, Index: index,
			Birth: progress[m.asset.Network].Tip, Watched: m.watched,
		})
		inv.Quotes[0].Prices = append(inv.Quotes[0].Prices, m.price)
	}
	inv.OtherNetworks = s.otherNetworks(request, priced, indexes)
	inv.Terms.Rules.Gas = s.gasAllowances(request.Mode)
	if t := request.Tolerance; t.BasisPoints > 0 || !t.Euro.IsZero() {
		inv.Terms.Rules.Tolerance = t.amountFor(request.Terms.Price, priced[0].price)
	}
	s.coverAll(inv, progress)
	inv.State = inv.Evaluate()
	inv.Events = []Event{s.event(inv, EventCreated, now)}
	inv.Messages = s.messagesOf(nil, inv, now)
	return inv, nil
}

// otherNetworks returns the invoice's destinations on watched networks that it does not offer.
func (s *Service) otherNetworks(r CreateRequest, priced []pricedMethod, indexes map[string]uint32) []OtherNetwork {
	var found []OtherNetwork
	for _, network := range s.networks[r.Mode] {
		offered := slices.ContainsFunc(priced, func(m pricedMethod) bool { return m.network.ID() == network.ID() })
		assets := network.Assets()
		if offered || !s.scanned[network.ID()] || len(assets) == 0 {
			continue
		}
		for _, w := range r.Wallets {
			index, known := indexes[w.Counter]
			if !known || w.Asset != assets[0].Wallet {
				continue
			}
			destination, err := network.NewDestination(chain.Request{Asset: assets[0], Key: w.Key, Index: index})
			if err == nil { // an error means that the key is for another network
				found = append(found, OtherNetwork{Network: network.ID(), Script: destination.Script, Index: index})
			}
		}
	}
	return found
}

// gasAllowances returns, by network, the allowance for gas that a merchant sends for a sweep.
func (s *Service) gasAllowances(mode Mode) map[chain.ID]money.Amount {
	allowed := map[chain.ID]money.Amount{}
	for _, network := range s.networks[mode] {
		for _, a := range network.Assets() {
			if a.Policy.Balance && !a.Policy.Gas.IsZero() {
				allowed[network.ID()] = a.Policy.Gas
			}
		}
	}
	return allowed
}

// pricedMethods returns the methods that have a price now, and whose networks are reached and carry the
// amount. They are in the order of the request. If the request names no methods, they are in the order of
// the merchant's choice or, without one, of chain.ComparePreference.
func (s *Service) pricedMethods(request CreateRequest, due money.Amount, rates Rates, progress map[chain.ID]Progress) ([]pricedMethod, error) {
	codes := request.PaymentMethods
	if len(codes) == 0 {
		codes = slices.DeleteFunc(slices.Clone(request.DefaultMethods), func(code string) bool { return !s.HasMethod(request.Mode, code) })
	}
	var found []pricedMethod
	var hasWallet, watched, selected, reached, shortEnough, rated bool
	var smallest *big.Rat
	for _, network := range s.networksFor(request.Mode, request.Wallets) {
		_, scanned := network.(chain.Scanner)
		assets := network.Assets()
		found = slices.Grow(found, len(assets))
		for _, asset := range assets {
			i := slices.IndexFunc(request.Wallets, func(w Wallet) bool { return w.Asset == asset.Wallet })
			if i < 0 {
				continue
			}
			hasWallet = true
			if !scanned && !s.unwatched {
				continue
			}
			watched = true
			if asset.Unverified {
				continue
			}
			if len(codes) > 0 && !slices.Contains(codes, asset.Code) {
				continue
			}
			selected = true
			isReached := s.Reached(network.ID(), progress)
			if !isReached && (!asset.Requested() || request.Terms.Lightning.OnDemand) {
				continue
			}
			reached = true
			if asset.Volatile && request.ExpiresIn > maxVolatileQuote {
				continue
			}
			shortEnough = true
			price, err := priceOf(asset, due, rates)
			if err != nil {
				continue
			}
			rated = true
			if isTooLarge(asset, request.Terms.Lightning, price.Expected) {
				continue
			}
			if !isPayable(asset, request.Terms.Lightning, price.Expected) {
				minimum := price.Rate(due.Currency()).Value(minimumOf(asset, request.Terms.Lightning))
				if smallest == nil || minimum.Cmp(smallest) < 0 {
					smallest = minimum
				}
				continue
			}
			found = append(found, pricedMethod{network: network, asset: asset, wallet: request.Wallets[i], price: price, watched: scanned, unreached: !isReached})
		}
	}
	slices.SortStableFunc(found, func(a, b pricedMethod) int {
		if len(codes) == 0 {
			return chain.ComparePreference(a.asset, b.asset)
		}
		return cmp.Compare(slices.Index(codes, a.asset.Code), slices.Index(codes, b.asset.Code))
	})
	switch {
	case len(found) > 0:
		return found, nil
	case !hasWallet:
		return nil, ErrNoWallet
	case !watched:
		return nil, ErrUnwatched
	case !selected:
		return nil, ErrNoMethod
	case !reached:
		return nil, ErrUnreached
	case !shortEnough:
		return nil, ErrTooLong
	case !rated:
		return nil, &NoRateError{Fiat: due.Currency()}
	case smallest == nil:
		return nil, ErrTooLarge
	}
	return nil, &TooSmallError{Smallest: money.RoundUp(smallest, due.Currency())}
}

// isPayable reports whether an amount can be sent on the asset's network, or requested under some terms.
func isPayable(asset chain.Asset, terms LightningTerms, amount money.Amount) bool {
	return !amount.IsZero() && amount.Cmp(asset.Dust) >= 0 && (!asset.Requested() || terms.carries(amount))
}

// isTooLarge reports whether an amount is more than a payment request under some terms may ask for.
func isTooLarge(asset chain.Asset, terms LightningTerms, amount money.Amount) bool {
	return asset.Requested() && !terms.Most.IsZero() && amount.Cmp(terms.Most) > 0
}

// minimumOf returns the least amount of an asset that can be sent, or requested under some terms.
func minimumOf(asset chain.Asset, terms LightningTerms) money.Amount {
	if asset.Requested() && terms.Least.Cmp(asset.Dust) > 0 {
		return terms.Least
	}
	return asset.Dust
}

// HasMethod reports whether a payment method can be offered to a merchant who has a wallet for it.
func (s *Service) HasMethod(mode Mode, code string) bool {
	_, ok := s.AssetByCode(mode, code)
	return ok
}

// assetsOf returns the assets of a mode.
func (s *Service) assetsOf(mode Mode) iter.Seq[chain.Asset] {
	return func(yield func(chain.Asset) bool) {
		for _, n := range s.networks[mode] {
			for _, a := range n.Assets() {
				if !yield(a) {
					return
				}
			}
		}
		if a := s.connections.Asset(); mode == Live && a.Code != "" {
			yield(a)
		}
	}
}

// MethodCodes returns the payment methods of a mode in the default order.
func (s *Service) MethodCodes(mode Mode) []string {
	assets := slices.Collect(s.assetsOf(mode))
	slices.SortStableFunc(assets, chain.ComparePreference)
	list := make([]string, len(assets))
	for i, a := range assets {
		list[i] = a.Code
	}
	return list
}

// AssetByCode returns the asset of a mode's networks with the given code.
func (s *Service) AssetByCode(mode Mode, code string) (chain.Asset, bool) {
	for a := range s.assetsOf(mode) {
		if a.Code == code {
			return a, true
		}
	}
	return chain.Asset{}, false
}

// WalletOf returns the kind of wallet of a method of live invoices: BTC, LTC or ETH; "" if there is no such method.
func (s *Service) WalletOf(code string) string {
	a, _ := s.AssetByCode(Live, code)
	return a.Wallet
}

// checkMethodsExist returns an *UnknownMethodError if a request names a method that is never offered. Without
// it, a mistyped method would be left out silently.
func (s *Service) checkMethodsExist(r CreateRequest) error {
	for _, code := range r.PaymentMethods {
		if !s.HasMethod(r.Mode, code) {
			return &UnknownMethodError{Code: code}
		}
	}
	return nil
}

// evidenceName returns the name of an evidence text, which all quotes with the same text share. It
// is "" if there is no evidence.
func evidenceName(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Evidence returns the source data of a quote's prices by its name, or ErrNotFound.
func (s *Service) Evidence(ctx context.Context, name string) (string, error) {
	return s.storage.Evidence(ctx, name)
}

// rateCodes returns the rate codes of the methods, each once.
func rateCodes(priced []pricedMethod) []string {
	var list []string
	for _, m := range priced {
		if !slices.Contains(list, m.asset.Rate) {
			list = append(list, m.asset.Rate)
		}
	}
	return list
}

// priceOf returns the price of an amount of fiat in an asset.
func priceOf(asset chain.Asset, due money.Amount, rates Rates) (Price, error) {
	eur, err := rates.Rate(asset.Rate, asset.Currency, money.EUR)
	if err != nil {
		return Price{}, err
	}
	usd, err := rates.Rate(asset.Rate, asset.Currency, money.USD)
	if err != nil {
		return Price{}, err
	}
	price := Price{Asset: asset.Code, EUR: eur, USD: usd}
	if fiat := due.Currency(); fiat != money.EUR && fiat != money.USD {
		if price.Other, err = rates.Rate(asset.Rate, asset.Currency, fiat); err != nil {
			return Price{}, err
		}
	}
	price.Expected = price.Rate(due.Currency()).Convert(due)
	return price, nil
}
