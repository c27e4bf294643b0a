package books

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// Closed is a line of a closed month.
type Closed struct {
	Month    Month
	Movement string // ID of the movement
	Line     Line
}

// compare compares the movements of an invoice or a sweep with its closed lines. It returns what the next month needs: the movements before
// end that are in no closed month, and a correction for each closed movement whose amounts have changed or that no longer exists. later is
// the number of movements from end on.
func compare(movements []Movement, closed []Closed, end time.Time) (added []Movement, later int) {
	byID := map[string][]Closed{}
	for _, c := range closed {
		byID[c.Movement] = append(byID[c.Movement], c)
	}
	for _, m := range movements {
		lines := byID[m.ID]
		delete(byID, m.ID)
		switch {
		case len(lines) > 0:
			added = appendCorrection(added, m, lines)
		case m.ReceivedAt.Before(end):
			added = append(added, m)
		default:
			later++
		}
	}
	for _, c := range closed {
		if lines := byID[c.Movement]; lines != nil {
			delete(byID, c.Movement)
			gone := Movement{c.Movement, lines[0].Line}
			for _, column := range columns {
				if column.isSum {
					*column.number(&gone.Line) = decimal.NullDecimal{}
				}
			}
			added = appendCorrection(added, gone, lines)
		}
	}
	return added, later
}

// appendCorrection appends the correction of the closed lines of a movement, if its amounts are different now.
func appendCorrection(added []Movement, m Movement, lines []Closed) []Movement {
	differs := false
	correction := m
	correction.Kind, correction.Corrects = Correction, fmt.Sprintf("%s/%d", lines[0].Month, lines[0].Line.Number)
	for _, column := range columns {
		if !column.isSum {
			continue
		}
		difference := column.number(&m.Line).Decimal
		for i := range lines {
			difference = difference.Sub(column.number(&lines[i].Line).Decimal)
		}
		*column.number(&correction.Line) = decimal.NullDecimal{Decimal: difference, Valid: !difference.IsZero()}
		differs = differs || !difference.IsZero()
	}
	if !differs {
		return added
	}
	return append(added, correction)
}
