package storage

import (
	"strconv"
	"strings"
)

// statement is a SELECT with its arguments.
type statement struct {
	text string
	args []any
}

// fragment is SQL of this package. Only constants are fragments: text from outside is an argument.
type fragment string

// filter is a condition of a list that a caller may leave out.
type filter struct {
	isSet     bool
	condition fragment // with a "?" for each value
	values    []any
}

// filterIf returns a filter that applies if its value is given.
func filterIf(given bool, condition fragment, values ...any) filter {
	return filter{isSet: given, condition: condition, values: values}
}

// conditions returns the conditions of the filters that apply, to follow the fixed conditions of a
// statement, and the statement's arguments. So each combination of filters is a statement of its own,
// which an index can serve.
func conditions(args []any, filters ...filter) (string, []any) {
	var text strings.Builder
	for _, f := range filters {
		if !f.isSet {
			continue
		}
		condition := string(f.condition)
		for _, v := range f.values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(args)), 1)
		}
		text.WriteString(" AND " + condition)
	}
	return text.String(), args
}
