package proof

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Shown is the address or the content of the payment link that a wallet was shown.
type Shown struct {
	scheme  string // of a link, lower case; empty for an address alone
	address string
	amount  string // in whole coins, see BIP 321
	chainID string // see ERC-681
	token   string
	units   string // in smallest units, see ERC-681
	// request is the payment request of BOLT 11 that a link offers beside its address, see BIP 321.
	request string
}

var (
	evmAddress      = regexp.MustCompile(`^0[xX][0-9A-Fa-f]{40}$`)
	bech32Pattern   = regexp.MustCompile(`^[a-z]{2,8}1[02-9ac-hj-np-z]{8,100}$`)
	requestPattern  = regexp.MustCompile(`^ln[a-z]{2,5}(?:[0-9]+[munp]?)?1[02-9ac-hj-np-z]+$`)
	addressPattern  = regexp.MustCompile(`^[0-9A-Za-z]{10,}$`)
	unitsPattern    = regexp.MustCompile(`^[0-9]{1,78}$`)
	coinsPattern    = regexp.MustCompile(`^[0-9]{1,30}(\.[0-9]{1,18})?$`)
	ethereumPattern = regexp.MustCompile(`^(?:pay-)?(0x[0-9A-Fa-f]{40})(?:@([0-9]{1,19}))?(/transfer)?$`)
)

// maxShown is the length of the longest payment link.
const maxShown = 4096

// otherMethods are the parameters with which a link offers other payment methods. See BIP 321.
var otherMethods = []string{"lno", "bc", "tb", "sp", "pay"}

// lightning is the scheme of links to payment requests of BOLT 11, and the parameter of BIP 321 that has one.
const lightning = "lightning"

// ParseShown parses an address, or a payment link as in a QR code: BIP 321 and similar links,
// payment requests of BOLT 11, and ERC-681.
func ParseShown(text string) (Shown, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxShown {
		return Shown{}, fmt.Errorf("longer than an address or payment link: %d bytes", len(text))
	}
	scheme, rest, link := strings.Cut(text, ":")
	if !link {
		if !addressPattern.MatchString(text) {
			return Shown{}, fmt.Errorf("%q is not an address, which has only letters A to Z and digits", text)
		}
		return Shown{address: text}, nil
	}
	target, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return Shown{}, fmt.Errorf("payment link: %w", err)
	}
	for name, repeated := range values {
		if len(repeated) > 1 {
			return Shown{}, fmt.Errorf("payment link has %q twice, and wallets differ in which one they use", name)
		}
	}
	if strings.EqualFold(scheme, "ethereum") {
		return parseEthereum(target, values)
	}
	s := Shown{scheme: strings.ToLower(scheme), address: target}
	if !addressPattern.MatchString(target) {
		return Shown{}, fmt.Errorf("%q in the payment link is not an address", target)
	}
	for name, value := range values { // names are not case-sensitive
		switch name = strings.ToLower(name); {
		case name == "amount" && (s.amount != "" || !coinsPattern.MatchString(value[0])):
			return Shown{}, fmt.Errorf("%q in the payment link is not an amount, or there is a second amount", value[0])
		case name == "amount":
			s.amount = value[0]
		case name == lightning && s.request == "" && isRequest(value[0]):
			s.request = value[0]
		case name == lightning:
			return Shown{}, fmt.Errorf("%q in the payment link is not a payment request, or there is a second one", value[0])
		case slices.Contains(otherMethods, name):
			return Shown{}, fmt.Errorf("payment link has a second payment method, %q, which no statement covers", name)
		}
	}
	return s, nil
}

// parseEthereum parses an ERC-681 link: a payment in the network's native coin, or a transfer of a
// token.
func parseEthereum(target string, values url.Values) (Shown, error) {
	found := ethereumPattern.FindStringSubmatch(target)
	if found == nil {
		return Shown{}, fmt.Errorf("%q in the payment link is not an address with its chain", target)
	}
	s := Shown{scheme: "ethereum", address: found[1], chainID: found[2], units: values.Get("value")}
	if s.chainID == "" {
		s.chainID = "1" // the standard's default
	}
	if found[3] != "" {
		s.token, s.address, s.units = found[1], values.Get("address"), values.Get("uint256")
		if !evmAddress.MatchString(s.address) {
			return Shown{}, fmt.Errorf("%q in the payment link is not an address", s.address)
		}
	}
	if s.units != "" && !unitsPattern.MatchString(s.units) {
		return Shown{}, fmt.Errorf("%q in the payment link is not a number of smallest units", s.units)
	}
	return s, nil
}

// schemes are the schemes of payment links by which a currency can be identified. Other schemes
// prove nothing, because forks of a coin share its addresses.
var schemes = map[string]string{"bitcoin": "BTC", "litecoin": "LTC", "dogecoin": "DOGE", "bitcoincash": "BCH", "monero": "XMR", lightning: "BTC-LN"}

// Find returns the payment methods that match the address or link that a wallet was shown. It
// returns ErrAddress, with the difference, if none does, or if one of two in a link does not.
func (s Statement) Find(shown Shown) ([]Method, error) {
	found, err := s.find(shown)
	if err != nil || shown.request == "" {
		return found, err
	}
	requested, err := s.find(Shown{scheme: lightning, address: shown.request, amount: shown.amount})
	if err != nil {
		return nil, err
	}
	return append(found, requested...), nil
}

// find is Find for the address of a link.
func (s Statement) find(shown Shown) ([]Method, error) {
	var found []Method
	var faults []string
	for _, m := range s.Methods {
		if !sameAddress(m.Address, shown.address) {
			continue
		}
		if difference := m.difference(shown); difference != "" {
			faults = append(faults, difference)
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
	return nil, fmt.Errorf("%s is %w: no payment method has it", shown.address, ErrAddress)
}

// difference describes how a payment link differs from m; "" if it does not.
func (m Method) difference(shown Shown) string {
	coin, known := schemes[shown.scheme]
	switch {
	case shown.scheme == "":
	case shown.scheme == "ethereum" && m.ChainID != shown.chainID:
		return fmt.Sprintf("the link is for chain %s, the statement for %s", shown.chainID, m)
	case shown.scheme == "ethereum" && !strings.EqualFold(m.Contract, shown.token):
		return fmt.Sprintf("the link sends %s, the statement has %s", describeToken(shown.token), m)
	case shown.units != "" && trimZeros(shown.units) != m.units():
		return fmt.Sprintf("the link asks for %s smallest units, the statement for %s: %s", shown.units, m.units(), m)
	case shown.scheme != "ethereum" && (m.ChainID != "" || !known || m.Currency != coin):
		return fmt.Sprintf("the link is for %s, the statement has %s", shown.scheme, m)
	case shown.amount != "" && canonical(shown.amount) != canonical(m.Amount):
		return fmt.Sprintf("the link asks for %s, the statement for %s", shown.amount, m)
	}
	return ""
}

// describeToken describes the asset that an ERC-681 link sends; token is empty for the network's native coin.
func describeToken(token string) string {
	if token == "" {
		return "the network's native coin"
	}
	return "the token " + token
}

// isRequest reports whether a text has the form of a payment request.
func isRequest(text string) bool {
	return requestPattern.MatchString(text) || text == strings.ToUpper(text) && requestPattern.MatchString(strings.ToLower(text))
}

// sameAddress reports whether two spellings are the same address: upper and lower case are equal in
// addresses of Ethereum, in bech32 (BIP 173) and in payment requests (BOLT 11), but not in others.
func sameAddress(a, b string) bool {
	if evmAddress.MatchString(a) && evmAddress.MatchString(b) {
		return strings.EqualFold(a, b)
	}
	if upper := strings.ToUpper(b); upper == b && (bech32Pattern.MatchString(strings.ToLower(b)) || isRequest(b)) {
		return a == strings.ToLower(b)
	}
	return a == b
}

// units returns the amount in smallest units.
func (m Method) units() string {
	integer, fraction, _ := strings.Cut(m.Amount, ".")
	if missing := int(m.Decimals) - len(fraction); missing >= 0 {
		fraction += strings.Repeat("0", missing)
	}
	return trimZeros(integer + fraction)
}

func trimZeros(digits string) string {
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		return "0"
	}
	return digits
}

// canonical returns an amount without insignificant zeros.
func canonical(amount string) string {
	integer, fraction, _ := strings.Cut(amount, ".")
	integer, fraction = trimZeros(integer), strings.TrimRight(fraction, "0")
	if fraction == "" {
		return integer
	}
	return integer + "." + fraction
}
