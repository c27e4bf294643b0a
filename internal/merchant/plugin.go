package merchant

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// The scopes of the key of a plug-in. They have the names that BTCPay Server's Greenfield API uses, without the
// prefix "btcpay.store.", and give fewer rights than the scopes of other keys: no right to decide about received
// money, except for ScopeSettleInvoices.
const (
	ScopeViewInvoices   Scope = "canviewinvoices"
	ScopeCreateInvoice  Scope = "cancreateinvoice"
	ScopeModifyInvoices Scope = "canmodifyinvoices" // metadata, archive, cancel
	ScopeViewStore      Scope = "canviewstoresettings"
	ScopeModifyStore    Scope = "canmodifystoresettings" // gives no more rights than ScopeViewStore
	ScopeModifyWebhooks Scope = "webhooks.canmodifywebhooks"
	ScopeOfferRefund    Scope = "cancreatenonapprovedpullpayments"
	// ScopeSettleInvoices is a scope of this program: the key may accept received money as the full price.
	ScopeSettleInvoices Scope = "cansettleinvoices"
)

// PluginScopes are all scopes of keys of plug-ins.
var PluginScopes = []Scope{
	ScopeViewInvoices, ScopeCreateInvoice, ScopeModifyInvoices, ScopeViewStore, ScopeModifyStore, ScopeModifyWebhooks, ScopeOfferRefund, ScopeSettleInvoices,
}

// Plugin is a kind of shop plug-in made for BTCPay Server.
type Plugin struct {
	Name   string
	Title  string  // name of the product; empty for other plug-ins
	Scopes []Scope // the scopes that the plug-in needs
}

// AcceptsPastedKey reports whether a key can be entered in the settings of the plug-in. Otherwise the plug-in receives a key only
// from the page of the desk to which its own button leads.
func (p Plugin) AcceptsPastedKey() bool { return p.Name != "prestashop" }

// Plugins are the known plug-ins. The last one has the scopes that serve any other plug-in.
var Plugins = []Plugin{
	{"woocommerce", "WooCommerce", []Scope{ScopeViewInvoices, ScopeCreateInvoice, ScopeViewStore, ScopeModifyInvoices, ScopeModifyWebhooks, ScopeOfferRefund}},
	{"prestashop", "PrestaShop", []Scope{ScopeModifyStore, ScopeModifyWebhooks, ScopeViewStore, ScopeCreateInvoice, ScopeViewInvoices, ScopeModifyInvoices}},
	{"magento", "Magento", []Scope{ScopeViewInvoices, ScopeCreateInvoice, ScopeModifyWebhooks, ScopeViewStore, ScopeModifyInvoices}},
	{"shopware", "Shopware", []Scope{ScopeCreateInvoice, ScopeViewInvoices, ScopeModifyWebhooks, ScopeViewStore}},
	{"opencart", "OpenCart", []Scope{ScopeCreateInvoice, ScopeViewInvoices, ScopeModifyWebhooks, ScopeViewStore}},
	{"givewp", "GiveWP", []Scope{ScopeCreateInvoice, ScopeViewInvoices, ScopeModifyWebhooks, ScopeViewStore}},
	{"virtuemart", "VirtueMart", []Scope{ScopeCreateInvoice, ScopeViewInvoices, ScopeModifyWebhooks, ScopeViewStore}},
	{"xenforo", "XenForo", []Scope{ScopeCreateInvoice, ScopeViewInvoices, ScopeModifyWebhooks, ScopeViewStore}},
	{"wix", "Wix", []Scope{ScopeCreateInvoice, ScopeViewInvoices, ScopeModifyWebhooks, ScopeViewStore, ScopeOfferRefund}},
	{"medusa", "Medusa", []Scope{ScopeCreateInvoice, ScopeViewInvoices, ScopeModifyInvoices, ScopeModifyWebhooks, ScopeViewStore, ScopeOfferRefund}},
	{"other", "", []Scope{
		ScopeViewInvoices, ScopeCreateInvoice, ScopeModifyInvoices, ScopeViewStore, ScopeModifyStore, ScopeModifyWebhooks, ScopeOfferRefund,
	}},
}

// FindPlugin returns the plug-in with a name. The error lists the names.
func FindPlugin(name string) (Plugin, error) {
	i := slices.IndexFunc(Plugins, func(p Plugin) bool { return p.Name == name })
	if i >= 0 {
		return Plugins[i], nil
	}
	names := make([]string, len(Plugins))
	for i, p := range Plugins {
		names[i] = p.Name
	}
	last := len(names) - 1
	return Plugin{}, fmt.Errorf("must be %s or %s, not %q", strings.Join(names[:last], ", "), names[last], name)
}

// PluginNamed returns the plug-in whose name is part of a text, such as the name that a plug-in gives itself, or the
// last of Plugins, which stands for any other.
func PluginNamed(text string) Plugin {
	text = strings.ToLower(text)
	i := slices.IndexFunc(Plugins, func(p Plugin) bool { return strings.Contains(text, p.Name) })
	if i < 0 {
		i = len(Plugins) - 1
	}
	return Plugins[i]
}

// PluginKey describes a new key of a plug-in.
type PluginKey struct {
	Plugin string // name of a Plugin
	Mode   Mode
	Scopes []Scope
	Label  string // "" = the name of the plug-in
	// Request identifies the request for the key. A second key for the same request is refused with ErrExists. If it is "",
	// the number of keys is not limited.
	Request string
}

// Lengths of a token: the public part, then the secret part. Both are letters and digits, because a plug-in removes
// other characters.
const (
	publicLength = 32
	tokenLength  = publicLength + 40
)

// requestIDLength is the number of hexadecimal digits in the ID of a key that a request identifies.
const requestIDLength = 32

// CreatePluginKey makes and stores the key of a plug-in and returns its token, of which only a hash is stored. The
// errors are *FieldError, or ErrExists if the request was used before.
func (s *Service) CreatePluginKey(ctx context.Context, merchantID string, n PluginKey) (k Key, token string, err error) {
	if _, err := FindPlugin(n.Plugin); err != nil {
		return Key{}, "", &FieldError{Field: "plugin", Fault: err.Error()}
	}
	if err := cmp.Or(invalid("label", CheckLine(n.Label, MaxLabel)), invalid("scopes", checkPluginScopes(n.Scopes))); err != nil {
		return Key{}, "", err
	}
	k = s.newKey(merchantID, n.Mode, n.Scopes)
	if n.Request != "" {
		k.ID = "key_" + hashOfToken(n.Request)[:requestIDLength]
	}
	token = k.Key + k.Secret
	k.Secret, k.TokenHash = "", hashOfToken(token)
	k.Plugin, k.Label = n.Plugin, cmp.Or(n.Label, n.Plugin)
	if err := s.storage.CreateKey(ctx, k); err != nil {
		return Key{}, "", fmt.Errorf("create key of plug-in: %w", err)
	}
	return k, token, nil
}

// checkPluginScopes returns an error for a list of scopes that the key of a plug-in cannot have.
func checkPluginScopes(scopes []Scope) error {
	for _, scope := range scopes {
		if !slices.Contains(PluginScopes, scope) {
			return fmt.Errorf("must be %s, not %q", listed(PluginScopes), scope)
		}
	}
	return checkScopes(scopes)
}

// AuthenticateToken returns the key of a plug-in by its token, or ErrNotFound. A revoked key is returned with its
// RevokedAt. The time that a refusal takes depends on the public part of the token only.
func (s *Service) AuthenticateToken(ctx context.Context, token string) (Key, error) {
	if len(token) != tokenLength {
		return Key{}, ErrNotFound
	}
	k, err := s.storedKey(ctx, token[:publicLength])
	if err != nil {
		return Key{}, err
	}
	isOwn := subtle.ConstantTimeCompare([]byte(k.TokenHash), []byte(hashOfToken(token))) == 1
	if !k.IsPlugin() || !isOwn {
		return Key{}, ErrNotFound
	}
	return k, nil
}

// hashOfToken returns the hash under which a token is stored. A token has more than 200 random bits, so that the
// hash needs no salt.
func hashOfToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// IsPlugin reports whether the key is a bearer token of a plug-in, which signs no requests.
func (k Key) IsPlugin() bool { return k.Plugin != "" }

// StoreID returns the identifier by which plug-ins name the shop of the key in its mode.
func (k Key) StoreID() string { return StoreID(k.MerchantID, k.Mode) }

// StoreID returns the identifier by which plug-ins name a shop: each shop has one for live and one for test invoices.
func StoreID(merchantID string, mode Mode) string {
	if mode == Test {
		return testStorePrefix + merchantID
	}
	return merchantID
}

// testStorePrefix begins no ID of a merchant.
const testStorePrefix = "test-"
