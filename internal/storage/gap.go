package storage

import (
	"encoding/json"
	"fmt"

	"chequer/internal/invoice"
)

// gapRow is the JSON form of an invoice.Gap, in Unix milliseconds. From is 0 if the gap has no known start.
type gapRow struct {
	From  int64 `json:"from"`
	Until int64 `json:"until"`
}

// gapsToText returns gaps as they are stored.
func gapsToText(gaps []invoice.Gap) string {
	rows := make([]gapRow, len(gaps))
	for i, g := range gaps {
		rows[i] = gapRow{From: millis(g.From).V, Until: g.Until.UnixMilli()}
	}
	return jsonText(rows)
}

// parseGaps parses the text of gapsToText.
func parseGaps(text string) ([]invoice.Gap, error) {
	var rows []gapRow
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("gaps: %w", err)
	}
	var gaps []invoice.Gap
	for _, row := range rows {
		g := invoice.Gap{Until: utc(row.Until)}
		if row.From != 0 {
			g.From = utc(row.From)
		}
		gaps = append(gaps, g)
	}
	return gaps, nil
}
