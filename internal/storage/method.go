package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// The methods of an invoice are stored as a JSON list of texts, their assets in its shared terms. The
// first text has three digits for each method: its destination, its birth and its flags. A digit is
// the character with that distance from '0'. The other texts are the destinations and, each after
// birthMark, the births. Methods share them.
//
// A destination is an address, an index and a script, which is absent if it is the address in lower
// case, as on EVM networks. A birth is a height and a hash. The fields are packed and separated by
// spaces.
const birthMark = "@"

// Flags of a method.
const (
	watchedFlag = 1 << iota
	forkedFlag
)

func methodsToText(methods []invoice.Method) string {
	var destinations, births []string
	digits := make([]rune, 0, 3*len(methods))
	for _, m := range methods {
		flags := 0
		if m.Watched {
			flags |= watchedFlag
		}
		if m.Forked {
			flags |= forkedFlag
		}
		to, birth := indexIn(&destinations, methodDestination{m.Destination, m.Index}.text()), indexIn(&births, birthText(m.Birth))
		for _, n := range []int{to, birth, flags} {
			digits = append(digits, '0'+rune(n))
		}
	}
	return jsonText(slices.Concat([]string{string(digits)}, destinations, births))
}

// indexIn returns the position of a text in a list, to which it is added if necessary.
func indexIn(list *[]string, text string) int {
	i := slices.Index(*list, text)
	if i < 0 {
		i = len(*list)
		*list = append(*list, text)
	}
	return i
}

// methodDestination is a destination with its index.
type methodDestination struct {
	chain.Destination
	index uint32
}

func (d methodDestination) text() string {
	text := pack(d.Address) + " " + strconv.FormatUint(uint64(d.index), 10)
	if d.Script == strings.ToLower(d.Address) {
		return text
	}
	return text + " " + pack(d.Script)
}

func parseDestination(text string) (d methodDestination, err error) {
	fields := strings.Split(text, " ")
	if len(fields) != 2 && len(fields) != 3 {
		return d, fmt.Errorf("destination %q has %d fields", text, len(fields))
	}
	if d.Address, err = unpack(fields[0]); err != nil {
		return d, err
	}
	index, err := strconv.ParseUint(fields[1], 10, 32)
	if err != nil {
		return d, fmt.Errorf("destination %q: %w", text, err)
	}
	d.index, d.Script = uint32(index), strings.ToLower(d.Address)
	if len(fields) == 3 {
		d.Script, err = unpack(fields[2])
	}
	return d, err
}

func birthText(c chain.Cursor) string {
	return birthMark + strconv.FormatInt(c.Height, 10) + " " + pack(c.Hash)
}

func parseBirth(text string) (c chain.Cursor, err error) {
	height, hash, _ := strings.Cut(strings.TrimPrefix(text, birthMark), " ")
	if c.Height, err = strconv.ParseInt(height, 10, 64); err != nil {
		return c, fmt.Errorf("birth %q: %w", text, err)
	}
	c.Hash, err = unpack(hash)
	return c, err
}

// parseMethods returns the methods of a row, whose assets are those of the shared terms unless these
// are nil.
func parseMethods(text string, shared *sharedTerms) ([]invoice.Method, error) {
	if shared == nil {
		return parseWholeMethods(text)
	}
	var texts []string
	if err := json.Unmarshal([]byte(text), &texts); err != nil {
		return nil, fmt.Errorf("methods: %w", err)
	}
	if len(texts) == 0 {
		return nil, errors.New("methods: the list is empty")
	}
	digits, texts := []rune(texts[0]), texts[1:]
	if len(digits) != 3*len(shared.assets) {
		return nil, fmt.Errorf("methods: %d digits for %d assets", len(digits), len(shared.assets))
	}
	first := slices.IndexFunc(texts, func(text string) bool { return strings.HasPrefix(text, birthMark) })
	if first < 0 {
		first = len(texts)
	}
	destinations, err := parseEach(texts[:first], parseDestination)
	if err != nil {
		return nil, fmt.Errorf("methods: %w", err)
	}
	births, err := parseEach(texts[first:], parseBirth)
	if err != nil {
		return nil, fmt.Errorf("methods: %w", err)
	}
	var methods []invoice.Method
	for i, asset := range shared.assets {
		to, birth, flags := int(digits[3*i]-'0'), int(digits[3*i+1]-'0'), int(digits[3*i+2]-'0')
		if to < 0 || to >= len(destinations) || birth < 0 || birth >= len(births) {
			return nil, fmt.Errorf("methods: the digits of %s are out of range", asset.Code)
		}
		methods = append(methods, invoice.Method{
			Asset: asset, Destination: destinations[to].Destination, Index: destinations[to].index, Birth: births[birth],
			Watched: flags&watchedFlag != 0, Forked: flags&forkedFlag != 0,
		})
	}
	return methods, nil
}

// parseEach parses every text of a list.
func parseEach[T any](texts []string, parse func(string) (T, error)) ([]T, error) {
	all := make([]T, len(texts))
	for i, text := range texts {
		var err error
		if all[i], err = parse(text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// methodRow is the JSON form of a payment method before schema version 29.
type methodRow struct {
	Asset       assetRow `json:"asset"`
	Address     string   `json:"to"`
	Script      string   `json:"script"`
	Index       uint32   `json:"index,omitempty"`
	BirthHeight int64    `json:"birth,omitempty"`
	BirthHash   string   `json:"hash,omitempty"`
	Forked      bool     `json:"forked,omitempty"`
	Watched     bool     `json:"watched,omitempty"`
}

func parseWholeMethods(text string) ([]invoice.Method, error) {
	var rows []methodRow
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("methods: %w", err)
	}
	var methods []invoice.Method
	for _, r := range rows {
		asset, err := r.Asset.asset()
		if err != nil {
			return nil, fmt.Errorf("method %s: %w", r.Asset.Code, err)
		}
		methods = append(methods, invoice.Method{
			Asset:       asset,
			Destination: chain.Destination{Address: r.Address, Script: r.Script},
			Index:       r.Index,
			Birth:       chain.Cursor{Height: r.BirthHeight, Hash: r.BirthHash},
			Forked:      r.Forked,
			Watched:     r.Watched,
		})
	}
	return methods, nil
}
