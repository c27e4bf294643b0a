package storage

import (
	"encoding/json"
	"fmt"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// methodRow is the JSON form of a payment method.
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

func methodsToText(methods []invoice.Method) string {
	rows := make([]methodRow, len(methods))
	for i, m := range methods {
		rows[i] = methodRow{
			Asset: assetToRow(m.Asset), Address: m.Destination.Address, Script: m.Destination.Script,
			Index: m.Index, BirthHeight: m.Birth.Height, BirthHash: m.Birth.Hash,
			Forked: m.Forked, Watched: m.Watched,
		}
	}
	return jsonText(rows)
}

func parseMethods(text string) ([]invoice.Method, error) {
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
