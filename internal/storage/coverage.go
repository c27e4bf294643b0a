package storage

import (
	"encoding/json"
	"fmt"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// coverageRow is how far one network was looked at.
type coverageRow struct {
	Scanned *int64 `json:"scanned,omitempty"`
	Broken  bool   `json:"broken,omitempty"`
}

func coverageToText(coverage map[chain.ID]invoice.Coverage) string {
	rows := map[chain.ID]coverageRow{}
	for network, c := range coverage {
		row := coverageRow{Broken: c.Broken}
		if at := millis(c.Scanned); at.Valid {
			row.Scanned = &at.V
		}
		rows[network] = row
	}
	return jsonText(rows)
}

func parseCoverage(text string) (map[chain.ID]invoice.Coverage, error) {
	var rows map[chain.ID]coverageRow
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("coverage: %w", err)
	}
	coverage := map[chain.ID]invoice.Coverage{}
	for network, row := range rows {
		c := invoice.Coverage{Broken: row.Broken}
		if row.Scanned != nil {
			c.Scanned = utc(*row.Scanned)
		}
		coverage[network] = c
	}
	return coverage, nil
}
