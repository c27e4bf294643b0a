package views

import "strings"

// Group is a part of a long number or address. Groups are set apart by margins,
// never by spaces, so that what a hand selects is what a wallet takes.
type Group struct {
	Text  string
	Tight bool // a narrow gap follows
}

// AmountGroups parts the decimals of a coin as people read satoshis: two, then
// threes. Short amounts stay whole. The decimal mark may be a comma.
func AmountGroups(amount string) []Group {
	mark := strings.IndexAny(amount, ".,")
	if mark < 0 || len(amount)-mark-1 <= 4 {
		return []Group{{Text: amount}}
	}
	groups := []Group{{Text: amount[:mark+3], Tight: true}}
	for rest := amount[mark+3:]; rest != ""; {
		n := min(3, len(rest))
		groups = append(groups, Group{Text: rest[:n], Tight: true})
		rest = rest[n:]
	}
	groups[len(groups)-1].Tight = false
	return groups
}

// AddressGroups parts an address into fours.
func AddressGroups(address string) []Group {
	var groups []Group
	for address != "" {
		n := min(4, len(address))
		groups = append(groups, Group{Text: address[:n]})
		address = address[n:]
	}
	return groups
}

// Reference is the part of an invoice's id that people read out: "aK3x-9QfW".
func Reference(id string) string {
	if len(id) < 8 {
		return id
	}
	return id[:4] + "-" + id[4:8]
}

// Moment is a time for programs and for people.
type Moment struct {
	Machine string
	Text    string
}
