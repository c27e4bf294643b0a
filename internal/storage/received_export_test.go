package storage

import (
	"context"
	"math/big"

	"maps"
)

// ReceivedDiffer reports whether the received sums of a merchant differ from those of all its transfers.
func ReceivedDiffer(ctx context.Context, s *Storage, merchantID string) (bool, error) {
	return answer(ctx, s.snapshot, func(ctx context.Context, q querier) (bool, error) {
		stored, err := readReceivedSums(ctx, q, merchantID)
		if err != nil {
			return false, err
		}
		computed, err := s.sumReceived(ctx, q, merchantID, retentionPosition{}, allReceived)
		if err != nil {
			return false, err
		}
		computed.drop()
		return !maps.EqualFunc(stored, computed, func(a, b *big.Int) bool { return a.Cmp(b) == 0 }), nil
	})
}
