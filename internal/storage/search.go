package storage

import (
	"context"
	"slices"

	"chequer/internal/invoice"
	"chequer/internal/storage/engine"
)

// maxExamined is the default maximum number of invoices that one page of a list examines.
const maxExamined = 1000

// search is the part of the list in which a page looks for the invoices that a filter selects.
type search struct {
	driver int              // the selector that drives the listing; -1 if none can
	end    invoice.Position // of the last invoice that is examined; zero if it is the last of the list
}

// startSearch returns the search for the page after a position. If one index serves all filters, the search has no end.
// Otherwise it reads the index of each possible driver up to the given number of invoices, and chooses the driver that
// gets furthest down the list. The search ends there, or has no end if fewer invoices are left.
func startSearch(ctx context.Context, q querier, f invoice.Filter, after invoice.Position, examined int) (search, error) {
	candidates, isDirect := drivers(f)
	if len(candidates) == 0 {
		return search{driver: -1}, nil
	}
	best := search{driver: candidates[0]}
	if isDirect {
		return best, nil
	}
	for i, d := range candidates {
		end, err := readEnd(ctx, q, newSearchEnd(f, after, d, examined))
		if engine.Absent(err) {
			return search{driver: d}, nil
		}
		if err != nil {
			return search{}, err
		}
		if i == 0 || end.CreatedAt.Before(best.end.CreatedAt) {
			best = search{driver: d, end: end}
		}
	}
	return best, nil
}

// drivers returns the numbers of the selectors that may drive a listing, in the order of selectors. isDirect reports
// whether the first one alone finds few invoices, or no filter but its own remains to be checked.
func drivers(f invoice.Filter) (drivers []int, isDirect bool) {
	selectors, unindexed := selectors(f), 0
	for i, s := range selectors {
		switch {
		case !s.isSet:
		case s.from == fromNone:
			unindexed++
		default:
			drivers = append(drivers, i)
		}
	}
	if len(drivers) == 0 {
		return nil, true
	}
	switch first := selectors[drivers[0]].from; {
	case first == fromParts:
		return drivers[:1], true
	case first == fromFlags && selectsStatus(f):
		unindexed-- // invoice_flags has the status; see flaggedListing
	}
	return drivers, len(drivers)-1+unindexed == 0
}

// newSearchEnd returns the statement that finds the last of the invoices that a page examines. It reads an index
// only.
func newSearchEnd(f invoice.Filter, after invoice.Position, driver, examined int) statement {
	s, id, table := selectors(f)[driver], fragment("id"), "invoices"
	if s.from == fromFlags {
		id, table = "invoice_id", "invoice_flags"
	}
	condition, values := s.condition, s.values
	if s.indexed != "" {
		condition, values = s.indexed, s.values[:1] // indexed has one placeholder
	}
	filters := append(bounds(f, after, id), filterIf(true, condition, values...))
	if s.from == fromFlags {
		filters = append(filters, filterIf(f.Status != "", statusCondition, string(f.Status)))
	}
	where, args := conditions([]any{f.MerchantID, string(f.Mode), examined - 1}, filters...)
	return statement{"SELECT created_at, " + string(id) + " FROM " + table + " WHERE merchant_id = $1 AND mode = $2" + where +
		" ORDER BY created_at DESC, " + string(id) + " DESC LIMIT 1 OFFSET $3", args}
}

func readEnd(ctx context.Context, q querier, s statement) (p invoice.Position, err error) {
	var at int64
	if err = q.QueryRowContext(ctx, s.text, s.args...).Scan(&at, &p.ID); err != nil {
		return invoice.Position{}, err
	}
	p.CreatedAt = utc(at)
	return p, nil
}

// searchPage returns a page of at most limit invoices, newest first, and the position after which the list may have
// more; zero if it has none.
func searchPage[T any](
	ctx context.Context, s *Storage, begin func(context.Context, work) error, f invoice.Filter, after invoice.Position, limit int,
	position func(T) invoice.Position, read func(context.Context, querier, listing) ([]T, error),
) (rows []T, more invoice.Position, err error) {
	if limit <= 0 {
		return nil, invoice.Position{}, nil
	}
	var found search
	rows, err = answer(ctx, begin, func(ctx context.Context, q querier) (rows []T, err error) {
		if found, err = startSearch(ctx, q, f, after, s.maxExamined); err != nil {
			return nil, err
		}
		f := f
		if found.end != (invoice.Position{}) {
			f.From = found.end.CreatedAt
		}
		return read(ctx, q, newListing(f, after, limit+1, found.driver))
	})
	if err != nil {
		return nil, more, err
	}
	sortNewestFirst(rows, position)
	// The lower bound includes the whole millisecond of the last invoice that is examined. The next page has the
	// other invoices of that millisecond.
	if more = found.end; more != (invoice.Position{}) {
		rows = slices.DeleteFunc(rows, func(r T) bool { return position(r).Compare(more) > 0 })
	}
	if len(rows) > limit {
		rows = rows[:limit]
		more = position(rows[limit-1])
	}
	return rows, more, nil
}
