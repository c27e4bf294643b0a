package storage

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// sharedTerms are the parts of an invoice's terms that are the same in many invoices. They are
// stored once, under the hash of their text, and never change.
type sharedTerms struct {
	name, text string
	assets     []chain.Asset // of the methods, in order
	terms      invoice.Terms // only the fields of sharedTermsRow
}

// sharedTermsRow is the JSON form of shared terms.
type sharedTermsRow struct {
	Assets           []assetRow  `json:"assets"`
	Merchant         string      `json:"shop,omitempty"`
	AllowPaidExpired bool        `json:"late,omitempty"`
	DisableConvert   bool        `json:"keep,omitempty"`
	Convert          *convertRow `json:"sell,omitempty"`
	Rules            rulesRow    `json:"rules"` // without the tolerance, which depends on the price
	// Lightning is absent if the invoice offers no method of payment requests.
	Lightning *lightningRow `json:"ln,omitempty"`
}

// sharedTermsText returns the text of an invoice's shared terms.
func sharedTermsText(inv *invoice.Invoice) string {
	t := inv.Terms
	assets := make([]assetRow, len(inv.Methods))
	for i, m := range inv.Methods {
		assets[i] = assetToRow(m.Asset)
	}
	rules := rulesToRow(t.Rules)
	rules.Tolerance = ""
	return jsonText(sharedTermsRow{
		Assets: assets, Merchant: t.Merchant, AllowPaidExpired: t.AllowPaidExpired,
		DisableConvert: t.DisableSale, Convert: convertToRow(t.Sale), Rules: rules,
		Lightning: lightningToRow(t.Lightning),
	})
}

func parseSharedTerms(name, text string) (*sharedTerms, error) {
	var r sharedTermsRow
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("shared terms %s: %w", name, err)
	}
	shared := &sharedTerms{name: name, text: text}
	for _, a := range r.Assets {
		asset, err := a.asset()
		if err != nil {
			return nil, fmt.Errorf("shared terms %s: asset %s: %w", name, a.Code, err)
		}
		shared.assets = append(shared.assets, asset)
	}
	sale, err := r.Convert.terms()
	if err != nil {
		return nil, fmt.Errorf("shared terms %s: smallest sale: %w", name, err)
	}
	rules, err := r.Rules.rules()
	if err != nil {
		return nil, fmt.Errorf("shared terms %s: %w", name, err)
	}
	lightning, err := r.Lightning.terms()
	if err != nil {
		return nil, fmt.Errorf("shared terms %s: %w", name, err)
	}
	shared.terms = invoice.Terms{
		Merchant: r.Merchant, AllowPaidExpired: r.AllowPaidExpired, DisableSale: r.DisableConvert, Sale: sale, Rules: rules, Lightning: lightning,
	}
	return shared, nil
}

// maxSharedTerms is the largest number of shared terms in memory. Most databases have fewer.
const maxSharedTerms = 256

// sharedTermsCache holds shared terms in memory, so that reading an invoice does not parse them
// again. The zero value is ready to use.
type sharedTermsCache struct {
	mu     sync.Mutex
	byName map[string]*sharedTerms
	byText map[string]*sharedTerms
	stored map[string]bool // names that a committed transaction has written
}

// termsOf returns the shared terms of an invoice.
func (c *sharedTermsCache) termsOf(inv *invoice.Invoice) *sharedTerms {
	text := sharedTermsText(inv)
	c.mu.Lock()
	known := c.byText[text]
	c.mu.Unlock()
	if known != nil {
		return known
	}
	sum := sha256.Sum256([]byte(text))
	shared, err := parseSharedTerms(base64.RawURLEncoding.EncodeToString(sum[:16]), text)
	if err != nil {
		panic("storage: " + err.Error()) // the text was just made
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(shared)
	return shared
}

// read returns the shared terms of an invoice's row, or nil if the row holds the whole terms.
func (c *sharedTermsCache) read(ctx context.Context, q querier, r invoiceRow) (*sharedTerms, error) {
	if !r.shared.Valid {
		return nil, nil
	}
	c.mu.Lock()
	known := c.byName[r.shared.V]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	var text string
	if err := q.QueryRowContext(ctx, "SELECT body FROM shared_terms WHERE name = $1", r.shared.V).Scan(&text); err != nil {
		return nil, fmt.Errorf("read shared terms %s: %w", r.shared.V, err)
	}
	shared, err := parseSharedTerms(r.shared.V, text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(shared)
	return shared, nil
}

// add adds shared terms. The mutex must be locked.
func (c *sharedTermsCache) add(shared *sharedTerms) {
	if c.byName == nil || len(c.byName) >= maxSharedTerms {
		c.byName, c.byText, c.stored = map[string]*sharedTerms{}, map[string]*sharedTerms{}, map[string]bool{}
	}
	c.byName[shared.name], c.byText[shared.text] = shared, shared
}

// save writes shared terms, unless they are known to be stored.
func (c *sharedTermsCache) save(ctx context.Context, q querier, shared *sharedTerms) error {
	c.mu.Lock()
	stored := c.stored[shared.name]
	c.mu.Unlock()
	if stored {
		return nil
	}
	_, err := q.ExecContext(ctx, "INSERT INTO shared_terms (name, body) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", shared.name, shared.text)
	if err != nil {
		return fmt.Errorf("write shared terms: %w", err)
	}
	return nil
}

// markCommitted records that a transaction that saved shared terms is committed.
func (c *sharedTermsCache) markCommitted(shared *sharedTerms) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName[shared.name] != nil {
		c.stored[shared.name] = true
	}
}

// forget makes the next transactions write their shared terms again.
func (c *sharedTermsCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.stored)
}
