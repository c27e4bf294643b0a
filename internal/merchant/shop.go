// Package merchant implements merchants and what they manage: API keys, wallets, endpoints, checkout
// links, products, terminals and themes, with the rules for each.
package merchant

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Merchant represents a shop that is paid.
type Merchant struct {
	ID        string
	Name      string
	Choices   Choices // payment settings
	CreatedAt time.Time
}

// Path returns the path of the shop's storefront below the base path. The storefront of the oldest shop is at
// the root, too.
func (m Merchant) Path() string { return "/s/" + url.PathEscape(m.ID) }

// Mode separates real payments from test payments, like invoice.Mode.
type Mode string

const (
	// Live means real money.
	Live Mode = "live"
	// Test means simnet.
	Test Mode = "test"
)

const (
	// MaxName is the largest number of characters of a shop's name.
	MaxName = 64
	// MaxShops is the largest number of shops of a server.
	MaxShops = 100
)

// NewShop is a merchant that is created, with everything that is written in the same transaction.
type NewShop struct {
	Merchant
	Wallets []Wallet // wallets of test invoices
	OwnerID string   // account that becomes the owner; "" if none does
}

// ShopStorage stores merchants. It is safe for concurrent use. Its methods return ErrNameTaken if another
// merchant has the NameKey of a name.
type ShopStorage interface {
	// CreateShop writes a new shop. It returns ErrExists if a merchant has its ID, ErrTooMany if there are
	// MaxShops, and ErrNotFound if there is no account with its OwnerID.
	CreateShop(ctx context.Context, n NewShop) error
	// RenameMerchant changes a merchant's name, or returns ErrNotFound. Existing invoices keep the old name. It
	// returns ErrStale if seen is neither "" nor the current name.
	RenameMerchant(ctx context.Context, id, seen, name string) error
	// Merchants lists all merchants, oldest first.
	Merchants(ctx context.Context) ([]Merchant, error)
	// Merchant returns a merchant, or ErrNotFound.
	Merchant(ctx context.Context, id string) (Merchant, error)
}

// Shops lists all merchants, oldest first.
func (s *Service) Shops(ctx context.Context) ([]Merchant, error) { return s.storage.Merchants(ctx) }

// CreateShop creates a merchant with wallets for its test invoices. The account with ownerID becomes its
// owner, unless ownerID is "". The errors are *FieldError, ErrNameTaken, ErrTooMany, and ErrNotFound if
// there is no such account.
func (s *Service) CreateShop(ctx context.Context, name, ownerID string) (Merchant, error) {
	name, err := checkName(name)
	if err != nil {
		return Merchant{}, err
	}
	base := idFromName(name)
	for number := 1; ; number++ {
		n := NewShop{Merchant: Merchant{ID: base, Name: name, CreatedAt: s.now()}, OwnerID: ownerID}
		if number > 1 {
			n.ID += "-" + strconv.Itoa(number)
		}
		if n.Wallets, err = newTestWallets(n.ID, n.CreatedAt, s.token); err != nil {
			return Merchant{}, err
		}
		err := s.storage.CreateShop(ctx, n)
		if errors.Is(err, ErrExists) { // another name gave the same ID
			continue
		}
		if err != nil {
			return Merchant{}, fmt.Errorf("create shop: %w", err)
		}
		return n.Merchant, nil
	}
}

// RenameShop changes the name of a merchant. Existing invoices keep the old name. The errors are
// *FieldError, ErrNameTaken, ErrNotFound, and ErrStale if seen is neither "" nor the current name.
func (s *Service) RenameShop(ctx context.Context, id, seen, name string) error {
	name, err := checkName(name)
	if err != nil {
		return err
	}
	if err := s.storage.RenameMerchant(ctx, id, seen, name); err != nil {
		return fmt.Errorf("rename shop: %w", err)
	}
	s.merchant.remove(id)
	return nil
}

// checkName returns a name without surrounding space, or a *FieldError.
func checkName(text string) (string, error) {
	name := strings.TrimSpace(norm.NFC.String(text))
	if name == "" {
		return "", invalid("name", errors.New("must not be empty"))
	}
	return name, invalid("name", CheckLine(name, MaxName))
}

// NameKey returns the form of a merchant's name in which it is unique: two names that differ only in case
// or width are the same.
func NameKey(name string) string {
	return cases.Fold().String(norm.NFKC.String(strings.TrimSpace(name)))
}

// idPrefix begins the ID of every merchant that a Service creates, so that the ID is no other word in the
// path of a page.
const idPrefix = "m_"

// maxID is the largest length of an ID without idPrefix.
const maxID = 24

// idFromName returns the ID of a merchant with a name, from the letters a to z and the digits of the name.
func idFromName(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(norm.NFKD.String(name)) {
		switch {
		case b.Len() == maxID:
			return idPrefix + b.String()
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			if gap && b.Len() > 0 && b.Len() < maxID-1 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case !unicode.Is(unicode.Mn, r):
			gap = true
		}
	}
	if b.Len() == 0 {
		return idPrefix + "shop"
	}
	return idPrefix + b.String()
}

// Choose returns the shop with an ID or a name, or the only shop if name is "". The error lists the shops
// if there is no such shop, or if there are several and name is "".
func Choose(shops []Merchant, name string) (Merchant, error) {
	if name == "" && len(shops) == 1 {
		return shops[0], nil
	}
	i := slices.IndexFunc(shops, func(m Merchant) bool { return m.ID == name })
	if i < 0 && name != "" {
		i = slices.IndexFunc(shops, func(m Merchant) bool { return NameKey(m.Name) == NameKey(name) })
	}
	if i >= 0 {
		return shops[i], nil
	}
	var list []string
	for _, m := range shops {
		list = append(list, fmt.Sprintf("%s (%s)", m.ID, m.Name))
	}
	if name == "" {
		return Merchant{}, fmt.Errorf("there are several shops, and none is named: %s", strings.Join(list, ", "))
	}
	return Merchant{}, fmt.Errorf("there is no shop %q; there are %s: %w", name, strings.Join(list, ", "), ErrNotFound)
}
