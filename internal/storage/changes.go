package storage

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/invoice"
)

// changesChannel is the channel on which processes announce new versions of invoices.
const changesChannel = "chequer_changes"

// changesPerAnnouncement is the number of changes in one announcement, which has at most 7,999 bytes
// on PostgreSQL.
const changesPerAnnouncement = 100

// versionsQueries are the statements that read the versions of invoices, by the number of invoices.
// There are only two, because connections keep every statement prepared.
var versionsQueries = map[int]string{
	10:  "SELECT id, version FROM invoices WHERE id IN (" + placeholders(10) + ")",
	500: "SELECT id, version FROM invoices WHERE id IN (" + placeholders(500) + ")",
}

// DataVersion implements invoice.Changes.
func (s *Storage) DataVersion(ctx context.Context) (int64, error) {
	version, err := s.engine.DataVersion(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the data version: %w", err)
	}
	return version, nil
}

// Versions implements invoice.Changes.
func (s *Storage) Versions(ctx context.Context, ids []string) (changes []invoice.Change, err error) {
	size := 10
	if len(ids) > size {
		size = 500
	}
	for chunk := range slices.Chunk(ids, size) {
		args := make([]any, size)
		for i := range args {
			args[i] = chunk[min(i, len(chunk)-1)] // the last ID also fills the placeholders that are left
		}
		found, err := readAll(ctx, s, "versions of invoices", scanChange, versionsQueries[size], args...)
		if err != nil {
			return nil, err
		}
		changes = append(changes, found...)
	}
	return changes, nil
}

func scanChange(row scanner) (c invoice.Change, err error) {
	err = row.Scan(&c.ID, &c.Version)
	return c, err
}

// placeholders returns the placeholders of n arguments.
func placeholders(n int) string {
	b := make([]byte, 0, 5*n)
	for i := range n {
		b = strconv.AppendInt(append(b, ",$"...), int64(i+1), 10)
	}
	return strings.TrimPrefix(string(b), ",")
}

// Announce implements invoice.Changes.
func (s *Storage) Announce(ctx context.Context, changes []invoice.Change) error {
	for chunk := range slices.Chunk(changes, changesPerAnnouncement) {
		if err := s.engine.Announce(ctx, changesChannel, formatChanges(chunk)); err != nil {
			return fmt.Errorf("announce changes: %w", err)
		}
	}
	return nil
}

// Listen implements invoice.Changes.
func (s *Storage) Listen(ctx context.Context, connected func(), changed func([]invoice.Change)) error {
	return s.engine.Listen(ctx, changesChannel, connected, func(text string) { changed(parseChanges(text)) })
}

// formatChanges returns the text of an announcement: "ID:VERSION" for each change, separated by
// spaces.
func formatChanges(changes []invoice.Change) string {
	var b strings.Builder
	for i, c := range changes {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s:%d", c.ID, c.Version)
	}
	return b.String()
}

// parseChanges parses a text of formatChanges. It omits words that it cannot parse, because any program
// with access to the database can announce.
func parseChanges(text string) (changes []invoice.Change) {
	for word := range strings.FieldsSeq(text) {
		id, number, _ := strings.Cut(word, ":")
		if version, err := strconv.ParseInt(number, 10, 64); err == nil && version > 0 {
			changes = append(changes, invoice.Change{ID: id, Version: version})
		}
	}
	return changes
}
