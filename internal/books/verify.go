package books

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"chequer/internal/proof"
)

// SignedFile is a file of a closed month with its statement.
type SignedFile struct {
	Name      string // for errors
	CSV       string // canonical
	Statement string
}

// Verified is a month whose file agrees with its signed statement.
type Verified struct {
	proof.Closing
	// FollowsPrevious is true if the month before is among the files, and this statement names its hash.
	FollowsPrevious bool
}

// Verify checks files of closed months against their signed statements, and each statement against that of the month before if it is among
// the files. The errors are those of proof.VerifyClosing, ErrChanged and ErrChain.
func Verify(files []SignedFile, trusted []proof.Trusted) ([]Verified, error) {
	type signed struct {
		Verified
		hash string
	}
	var list []signed
	for _, f := range files {
		c, err := proof.VerifyClosing(f.Statement, trusted)
		if err != nil {
			return nil, fmt.Errorf("%s: the statement: %w", f.Name, err)
		}
		if sum := hash(f.CSV); sum != c.SHA256 {
			return nil, fmt.Errorf("%s %w: its SHA-256 is %s, not %s", f.Name, ErrChanged, sum, c.SHA256)
		}
		rows, err := csv.NewReader(strings.NewReader(f.CSV)).ReadAll()
		if err != nil || len(rows) != c.Lines+1 {
			return nil, fmt.Errorf("%s %w: it does not have %d lines", f.Name, ErrChanged, c.Lines)
		}
		list = append(list, signed{Verified{Closing: c}, hash(f.Statement)})
	}
	slices.SortFunc(list, func(a, b signed) int {
		return cmp.Or(cmp.Compare(a.Shop, b.Shop), cmp.Compare(a.Month, b.Month))
	})
	var verified []Verified
	for i := range list {
		if i > 0 && list[i-1].Shop == list[i].Shop && Month(list[i-1].Month).Next() == Month(list[i].Month) {
			if list[i].Previous != list[i-1].hash {
				return nil, fmt.Errorf("the statement of %s %w: it names the SHA-256 %s, not %s", list[i].Month, ErrChain, list[i].Previous, list[i-1].hash)
			}
			list[i].FollowsPrevious = true
		}
		verified = append(verified, list[i].Verified)
	}
	return verified, nil
}

// VerifyStored checks all closed months of a shop as they are stored.
func (s *Service) VerifyStored(ctx context.Context, shopID string, trusted []proof.Trusted) ([]Verified, error) {
	closings, err := s.storage.Closings(ctx, shopID)
	if err != nil {
		return nil, err
	}
	files := make([]SignedFile, len(closings))
	for i, c := range closings {
		file, err := s.closed(ctx, c)
		if err != nil {
			return nil, err
		}
		files[i] = SignedFile{string(c.Month), file.CSV, file.Statement}
	}
	return Verify(files, trusted)
}
