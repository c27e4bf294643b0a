package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// methodsRow is the JSON form of an invoice's payment methods, whose assets are in its shared terms.
// Methods share destinations and births.
type methodsRow struct {
	Destinations []methodDestinationRow `json:"to"`
	Births       []birthRow             `json:"born"`
	// Methods holds three numbers for each method: its destination, its birth and its flags.
	Methods []int `json:"of"`
}

// Flags of a method.
const (
	watchedFlag = 1 << iota
	forkedFlag
)

// methodDestinationRow is the JSON form of a method's destination.
type methodDestinationRow struct {
	Address string `json:"a"`
	Script  string `json:"s,omitempty"` // packed; absent if it is the address in lower case
	Index   uint32 `json:"i,omitempty"`
}

// birthRow is the JSON form of the tip of a method's network when the invoice was created.
type birthRow struct {
	Height int64  `json:"h,omitempty"`
	Hash   string `json:"b,omitempty"` // packed
}

func methodsToText(methods []invoice.Method) string {
	r := methodsRow{Methods: make([]int, 0, 3*len(methods))}
	for _, m := range methods {
		flags := 0
		if m.Watched {
			flags |= watchedFlag
		}
		if m.Forked {
			flags |= forkedFlag
		}
		to := methodDestinationRow{Address: m.Destination.Address, Script: packScript(m.Destination), Index: m.Index}
		born := birthRow{m.Birth.Height, packHex(m.Birth.Hash)}
		r.Methods = append(r.Methods, place(&r.Destinations, to), place(&r.Births, born), flags)
	}
	return jsonText(r)
}

// place returns the position of a value in a list, to which it is added if necessary.
func place[T comparable](list *[]T, value T) int {
	i := slices.Index(*list, value)
	if i < 0 {
		i = len(*list)
		*list = append(*list, value)
	}
	return i
}

var errMethods = errors.New("methods: the numbers do not match the lists")

// parseMethods returns the methods of a row, whose assets are those of the shared terms unless these
// are nil.
func parseMethods(text string, shared *sharedTerms) ([]invoice.Method, error) {
	if shared == nil {
		return parseWholeMethods(text)
	}
	var r methodsRow
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("methods: %w", err)
	}
	if len(r.Methods) != 3*len(shared.assets) {
		return nil, errMethods
	}
	destinations := make([]chain.Destination, len(r.Destinations))
	for i, d := range r.Destinations {
		var err error
		if destinations[i], err = d.destination(); err != nil {
			return nil, fmt.Errorf("methods: %w", err)
		}
	}
	births := make([]chain.Cursor, len(r.Births))
	for i, b := range r.Births {
		hash, err := unpackHex(b.Hash)
		if err != nil {
			return nil, fmt.Errorf("methods: birth: %w", err)
		}
		births[i] = chain.Cursor{Height: b.Height, Hash: hash}
	}
	var methods []invoice.Method
	for i, asset := range shared.assets {
		to, born, flags := r.Methods[3*i], r.Methods[3*i+1], r.Methods[3*i+2]
		if to < 0 || to >= len(destinations) || born < 0 || born >= len(births) {
			return nil, errMethods
		}
		methods = append(methods, invoice.Method{
			Asset: asset, Destination: destinations[to], Index: r.Destinations[to].Index, Birth: births[born],
			Watched: flags&watchedFlag != 0, Forked: flags&forkedFlag != 0,
		})
	}
	return methods, nil
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
