package storage

import (
	"encoding/json"
	"fmt"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// coverageRow is the JSON form of the coverage of one network. If only the time of the scan is set,
// it is instead a number, the milliseconds from the creation of the invoice to the scan.
type coverageRow struct {
	Scanned   *int64 `json:"scanned,omitempty"`
	BlindFrom *int64 `json:"blind_from,omitempty"`
	// Broken marks a gap of unknown time. Only the first schema wrote it.
	Broken bool `json:"broken,omitempty"`
}

func coverageToText(coverage map[chain.ID]invoice.Coverage, createdAt time.Time) string {
	rows := map[chain.ID]any{}
	for network, c := range coverage {
		scanned, blindFrom := millis(c.Scanned), millis(c.BlindFrom)
		if scanned.Valid && !blindFrom.Valid {
			rows[network] = scanned.V - createdAt.UnixMilli()
			continue
		}
		var row coverageRow
		if scanned.Valid {
			row.Scanned = &scanned.V
		}
		if blindFrom.Valid {
			row.BlindFrom = &blindFrom.V
		}
		rows[network] = row
	}
	return jsonText(rows)
}

func parseCoverage(text string, createdAt time.Time) (map[chain.ID]invoice.Coverage, error) {
	var rows map[chain.ID]json.RawMessage
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("coverage: %w", err)
	}
	coverage := map[chain.ID]invoice.Coverage{}
	for network, text := range rows {
		var since int64
		if err := json.Unmarshal(text, &since); err == nil {
			coverage[network] = invoice.Coverage{Scanned: utc(createdAt.UnixMilli() + since)}
			continue
		}
		var row coverageRow
		if err := json.Unmarshal(text, &row); err != nil {
			return nil, fmt.Errorf("coverage of %s: %w", network, err)
		}
		coverage[network] = row.coverage()
	}
	return coverage, nil
}

func (r coverageRow) coverage() (c invoice.Coverage) {
	if r.Scanned != nil {
		c.Scanned = utc(*r.Scanned)
	}
	switch {
	case r.BlindFrom != nil:
		c.BlindFrom = utc(*r.BlindFrom)
	case r.Broken:
		c.BlindFrom = utc(0)
	}
	return c
}
