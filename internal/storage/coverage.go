package storage

import (
	"encoding/json"
	"fmt"
	"strconv"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// coverageRow is the JSON form of the coverage of one network. It is a number if only the time of the
// scan is set.
type coverageRow struct {
	Scanned   *int64 `json:"scanned,omitempty"`
	BlindFrom *int64 `json:"blind_from,omitempty"`
	// Broken marks a gap of unknown time. Only the first schema wrote it.
	Broken bool `json:"broken,omitempty"`
}

// wholeCoverageRow is a coverageRow in its form as an object.
type wholeCoverageRow coverageRow

// MarshalJSON implements json.Marshaler.
func (r coverageRow) MarshalJSON() ([]byte, error) {
	if r.Scanned != nil && r.BlindFrom == nil && !r.Broken {
		return strconv.AppendInt(nil, *r.Scanned, 10), nil
	}
	return json.Marshal(wholeCoverageRow(r))
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *coverageRow) UnmarshalJSON(text []byte) error {
	if scanned, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		r.Scanned = &scanned
		return nil
	}
	return json.Unmarshal(text, (*wholeCoverageRow)(r))
}

func coverageToText(coverage map[chain.ID]invoice.Coverage) string {
	rows := map[chain.ID]coverageRow{}
	for network, c := range coverage {
		var row coverageRow
		if at := millis(c.Scanned); at.Valid {
			row.Scanned = &at.V
		}
		if at := millis(c.BlindFrom); at.Valid {
			row.BlindFrom = &at.V
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
		var c invoice.Coverage
		if row.Scanned != nil {
			c.Scanned = utc(*row.Scanned)
		}
		switch {
		case row.BlindFrom != nil:
			c.BlindFrom = utc(*row.BlindFrom)
		case row.Broken:
			c.BlindFrom = utc(0)
		}
		coverage[network] = c
	}
	return coverage, nil
}
