package greenfield

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// version is the version of BTCPay Server whose API this is. Plug-ins compare it with the oldest one that they support.
const version = "2.0.0+chequer.1"

// health handles GET health, which needs no key.
func (s *server) health(c echo.Context) error {
	return writeJSON(c, http.StatusOK, map[string]bool{"synchronized": true})
}

// serverInfo is the answer of GET server/info.
type serverInfo struct {
	Version    string   `json:"version"`
	Onion      *string  `json:"onion"`
	Methods    []string `json:"supportedPaymentMethods"`
	IsSynced   bool     `json:"fullySynched"` // a plug-in hides the payment method if it is false
	SyncStatus []string `json:"syncStatus"`
}

// serverInfo handles GET server/info.
func (s *server) serverInfo(c echo.Context, k merchant.Key) error {
	offered, err := s.offered(c, k)
	if err != nil {
		return err
	}
	info := serverInfo{Version: version, Methods: []string{}, IsSynced: true, SyncStatus: []string{}}
	for _, a := range offered {
		info.Methods = append(info.Methods, methodID(a))
	}
	return writeJSON(c, http.StatusOK, info)
}

// store is a shop in one mode.
type store struct {
	ID                   string      `json:"id"`
	Name                 string      `json:"name"`
	Website              string      `json:"website"`
	DefaultCurrency      string      `json:"defaultCurrency"`
	InvoiceExpiration    int64       `json:"invoiceExpiration"`    // seconds
	MonitoringExpiration int64       `json:"monitoringExpiration"` // seconds
	PaymentTolerance     json.Number `json:"paymentTolerance"`     // percent
	SpeedPolicy          string      `json:"speedPolicy"`
	Archived             bool        `json:"archived"`
}

// speedPolicy is the name that plug-ins know for the depth that payments need. This server decides the depth.
const speedPolicy = "MediumSpeed"

// settings returns a merchant with the payment settings that are in force.
func (s *server) settings(ctx context.Context, merchantID string) (m merchant.Merchant, p merchant.PaymentSettings, err error) {
	if m, err = s.Merchants.Merchant(ctx, merchantID); err != nil {
		return m, p, err
	}
	if p, err = s.Creator.Overrides.Effective(m.Choices); err != nil {
		return m, p, fmt.Errorf("payment settings of merchant %s: %w", m.ID, err)
	}
	return m, p, nil
}

// storeOf returns the store of a key.
func (s *server) storeOf(c echo.Context, k merchant.Key) (store, error) {
	m, settings, err := s.settings(c.Request().Context(), k.MerchantID)
	if err != nil {
		return store{}, err
	}
	shown := store{
		ID: k.StoreID(), Name: m.Name, Website: s.BaseURL + m.Path(), DefaultCurrency: settings.Currency, SpeedPolicy: speedPolicy,
		InvoiceExpiration: int64(settings.QuoteTime / time.Second), MonitoringExpiration: int64(invoice.WatchPeriod / time.Second),
		PaymentTolerance: json.Number(big.NewRat(settings.Tolerance.BasisPoints, 100).FloatString(2)),
	}
	if k.Mode == merchant.Test {
		shown.Name += " (test)"
	}
	return shown, nil
}

// listStores handles GET stores: the store of the key.
func (s *server) listStores(c echo.Context, k merchant.Key) error {
	shown, err := s.storeOf(c, k)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, []store{shown})
}

// readStore handles GET stores/{store}.
func (s *server) readStore(c echo.Context, k merchant.Key) error {
	shown, err := s.storeOf(c, k)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, shown)
}

// storeMethod is a payment method of a store, with its name in the versions 2 and 1 of the API.
type storeMethod struct {
	Enabled  bool    `json:"enabled"`
	MethodID string  `json:"paymentMethodId"`
	Method   string  `json:"paymentMethod"`
	Currency string  `json:"cryptoCode"`
	Config   *string `json:"config"`
}

// listStoreMethods handles GET stores/{store}/payment-methods. A plug-in reads an empty list as "no wallet".
func (s *server) listStoreMethods(c echo.Context, k merchant.Key) error {
	offered, err := s.offered(c, k)
	if err != nil {
		return err
	}
	list := []storeMethod{}
	for _, a := range offered {
		list = append(list, storeMethod{Enabled: true, MethodID: methodID(a), Method: formerID(a), Currency: a.Symbol})
	}
	return writeJSON(c, http.StatusOK, list)
}

// chainMethod is a payment method in version 1 of the API.
type chainMethod struct {
	Enabled  bool   `json:"enabled"`
	Currency string `json:"cryptoCode"`
	Method   string `json:"paymentMethod"`
}

// listChainMethods handles GET stores/{store}/payment-methods/OnChain, from version 1 of the API.
func (s *server) listChainMethods(c echo.Context, k merchant.Key) error {
	offered, err := s.offered(c, k)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, chainMethods(offered, func(a chain.Asset) bool { return !a.Requested() }))
}

// listLightningMethods handles GET stores/{store}/payment-methods/LightningNetwork, from version 1 of the API.
func (s *server) listLightningMethods(c echo.Context, k merchant.Key) error {
	offered, err := s.offered(c, k)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, chainMethods(offered, chain.Asset.Requested))
}

// chainMethods returns the payment methods of the assets that keep selects, as version 1 of the API shows them.
func chainMethods(offered []chain.Asset, keep func(chain.Asset) bool) []chainMethod {
	list := []chainMethod{}
	for _, a := range offered {
		if keep(a) {
			list = append(list, chainMethod{Enabled: true, Currency: a.Symbol, Method: formerID(a)})
		}
	}
	return list
}

// offered returns the assets of the payment methods that new invoices of a key's store can have, in their order.
func (s *server) offered(c echo.Context, k merchant.Key) ([]chain.Asset, error) {
	ctx, mode := c.Request().Context(), invoice.Mode(k.Mode)
	_, settings, err := s.settings(ctx, k.MerchantID)
	if err != nil {
		return nil, err
	}
	wallets, err := s.Merchants.Wallets(ctx, k.MerchantID, k.Mode)
	if err != nil {
		return nil, err
	}
	codes := settings.Methods.Codes()
	if len(codes) == 0 {
		codes = s.Invoices.MethodCodes(mode)
	}
	var list []chain.Asset
	for _, code := range codes {
		a, known := s.Invoices.AssetByCode(mode, code)
		hasWallet := slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == a.Wallet })
		if known && hasWallet && !a.Unverified {
			list = append(list, a)
		}
	}
	return list, nil
}
