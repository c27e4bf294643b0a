package views

import "strings"

// Group is a part of a long number or address. Groups are separated by margins instead of spaces, so that
// a selected and copied text is valid in a wallet.
type Group struct {
	Text  string
	Tight bool // the margin to the next group is narrow
}

// AmountGroups splits the decimals of an amount as satoshis are often grouped: two digits, then groups of
// three. An amount of at most four decimals is one group. The decimal mark may be a comma.
func AmountGroups(amount string) []Group {
	separator := strings.IndexAny(amount, ".,")
	if separator < 0 || len(amount)-separator-1 <= 4 {
		return []Group{{Text: amount}}
	}
	groups := []Group{{Text: amount[:separator+3], Tight: true}}
	for digits := amount[separator+3:]; digits != ""; {
		n := min(3, len(digits))
		groups = append(groups, Group{Text: digits[:n], Tight: true})
		digits = digits[n:]
	}
	groups[len(groups)-1].Tight = false
	return groups
}

// AddressGroups splits an address into groups of four characters. A Lightning address, which is made of words, is one group.
func AddressGroups(address string) []Group {
	if strings.Contains(address, "@") {
		return []Group{{Text: address}}
	}
	var groups []Group
	for address != "" {
		n := min(4, len(address))
		groups = append(groups, Group{Text: address[:n]})
		address = address[n:]
	}
	return groups
}

// Reference returns the short form of an invoice's ID that is shown to shoppers and merchants:
// "aK3x-9QfW".
func Reference(id string) string {
	if len(id) < 8 {
		return id
	}
	return id[:4] + "-" + id[4:8]
}

// Moment is a time in a machine-readable form and as text.
type Moment struct {
	Machine string
	Text    string
}
