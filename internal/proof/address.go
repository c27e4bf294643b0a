package proof

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Shown is what a wallet was shown: an address, or what a payment link asks for.
type Shown struct {
	scheme  string // of a link, lower case; empty for an address alone
	address string
	amount  string // in whole coins, of BIP 321
	chainID string // of ERC-681
	token   string
	units   string // in the smallest units, of ERC-681
}

var (
	evmAddress  = regexp.MustCompile(`^0[xX][0-9A-Fa-f]{40}$`)
	bech32      = regexp.MustCompile(`^[a-z]{2,8}1[02-9ac-hj-np-z]{8,100}$`)
	addressForm = regexp.MustCompile(`^[0-9A-Za-z]{10,200}$`)
	unitsForm   = regexp.MustCompile(`^[0-9]{1,78}$`)
	coinsForm   = regexp.MustCompile(`^[0-9]{1,30}(\.[0-9]{1,18})?$`)
	ethereum    = regexp.MustCompile(`^(?:pay-)?(0x[0-9A-Fa-f]{40})(?:@([0-9]{1,19}))?(/transfer)?$`)
)

// maxShown is how long a payment link may be.
const maxShown = 4096

// ParseShown reads an address, or a payment link as a QR code holds it: BIP 321 and
// its family, ERC-681.
func ParseShown(text string) (Shown, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxShown {
		return Shown{}, fmt.Errorf("longer than an address or payment link: %d bytes", len(text))
	}
	scheme, rest, link := strings.Cut(text, ":")
	if !link {
		if !addressForm.MatchString(text) {
			return Shown{}, fmt.Errorf("%q is no address: those have letters A to Z and digits only", text)
		}
		return Shown{address: text}, nil
	}
	target, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return Shown{}, fmt.Errorf("payment link: %w", err)
	}
	for name, all := range values {
		if len(all) > 1 {
			return Shown{}, fmt.Errorf("payment link says %q twice: wallets differ in which one they take", name)
		}
	}
	if strings.EqualFold(scheme, "ethereum") {
		return parseEthereum(target, values)
	}
	s := Shown{scheme: strings.ToLower(scheme), address: target}
	if !addressForm.MatchString(target) {
		return Shown{}, fmt.Errorf("%q in the payment link is no address", target)
	}
	for name, all := range values { // keys are not case-sensitive
		switch name = strings.ToLower(name); {
		case name == "amount" && (s.amount != "" || !coinsForm.MatchString(all[0])):
			return Shown{}, fmt.Errorf("%q in the payment link is no amount, or one of two", all[0])
		case name == "amount":
			s.amount = all[0]
		case slices.Contains([]string{"lightning", "lno", "bc", "tb", "sp", "pay"}, name):
			return Shown{}, fmt.Errorf("payment link has a second way of paying, %q, that no statement is about", name)
		}
	}
	return s, nil
}

// parseEthereum reads a link by ERC-681: value of the network's own coin, or a
// transfer of a token.
func parseEthereum(target string, values url.Values) (Shown, error) {
	found := ethereum.FindStringSubmatch(target)
	if found == nil {
		return Shown{}, fmt.Errorf("%q in the payment link is no address with its chain", target)
	}
	s := Shown{scheme: "ethereum", address: found[1], chainID: found[2], units: values.Get("value")}
	if s.chainID == "" {
		s.chainID = "1" // the standard's default
	}
	if found[3] != "" {
		s.token, s.address, s.units = found[1], values.Get("address"), values.Get("uint256")
		if !evmAddress.MatchString(s.address) {
			return Shown{}, fmt.Errorf("%q in the payment link is no address", s.address)
		}
	}
	if s.units != "" && !unitsForm.MatchString(s.units) {
		return Shown{}, fmt.Errorf("%q in the payment link is no number of smallest units", s.units)
	}
	return s, nil
}

// schemes are the payment links of currencies that are told apart by them. Those of
// others are no proof: coins that came of one another share their addresses.
var schemes = map[string]string{"bitcoin": "BTC", "litecoin": "LTC", "dogecoin": "DOGE", "bitcoincash": "BCH", "monero": "XMR"}

// Find finds the ways of paying that a wallet was shown one of; ErrAddress when
// there is none, saying what differs.
func (s Statement) Find(shown Shown) ([]Method, error) {
	var found []Method
	var faults []string
	for _, m := range s.Methods {
		if !sameAddress(m.Address, shown.address) {
			continue
		}
		if differs := m.differs(shown); differs != "" {
			faults = append(faults, differs)
			continue
		}
		found = append(found, m)
	}
	switch {
	case len(found) > 0:
		return found, nil
	case len(faults) > 0:
		return nil, fmt.Errorf("%w: %s", ErrAddress, strings.Join(faults, "; "))
	}
	return nil, fmt.Errorf("%s is %w: no way of paying has it", shown.address, ErrAddress)
}

// differs says what of a payment link is not as m says; empty when nothing is.
func (m Method) differs(shown Shown) string {
	coin, known := schemes[shown.scheme]
	switch {
	case shown.scheme == "":
	case shown.scheme == "ethereum" && m.ChainID != shown.chainID:
		return fmt.Sprintf("the link is for chain %s, the statement for %s", shown.chainID, m)
	case shown.scheme == "ethereum" && !strings.EqualFold(m.Contract, shown.token):
		return fmt.Sprintf("the link sends %s, the statement says %s", sends(shown.token), m)
	case shown.units != "" && trimZeros(shown.units) != m.units():
		return fmt.Sprintf("the link asks for %s smallest units, the statement for %s: %s", shown.units, m.units(), m)
	case shown.scheme != "ethereum" && (m.ChainID != "" || !known || m.Currency != coin):
		return fmt.Sprintf("the link is for %s, the statement says %s", shown.scheme, m)
	case shown.amount != "" && canonical(shown.amount) != canonical(m.Amount):
		return fmt.Sprintf("the link asks for %s, the statement for %s", shown.amount, m)
	}
	return ""
}

func sends(token string) string {
	if token == "" {
		return "the network's own coin"
	}
	return "the token " + token
}

// sameAddress compares two spellings of an address: those of Ethereum and bech32
// (BIP 173) mean the same in upper and lower case, all others do not.
func sameAddress(a, b string) bool {
	if evmAddress.MatchString(a) && evmAddress.MatchString(b) {
		return strings.EqualFold(a, b)
	}
	if upper := strings.ToUpper(b); upper == b && bech32.MatchString(strings.ToLower(b)) {
		return a == strings.ToLower(b)
	}
	return a == b
}

// units is the amount in the smallest units.
func (m Method) units() string {
	whole, fraction, _ := strings.Cut(m.Amount, ".")
	if missing := int(m.Decimals) - len(fraction); missing >= 0 {
		fraction += strings.Repeat("0", missing)
	}
	return trimZeros(whole + fraction)
}

func trimZeros(digits string) string {
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		return "0"
	}
	return digits
}

// canonical writes an amount without zeros that say nothing.
func canonical(amount string) string {
	whole, fraction, _ := strings.Cut(amount, ".")
	whole, fraction = trimZeros(whole), strings.TrimRight(fraction, "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}
