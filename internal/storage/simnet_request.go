package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"chequer/internal/chain/simnet"
)

// simnetKey is the name in meta of the sealed key that signs the payment requests of simnet.
const simnetKey = "simnet_key"

// simnetKeyPurpose is the purpose of the sealed key of simnet.
const simnetKeyPurpose = "meta simnet_key"

// maxEndedRequests is the maximum number of ended payment requests that one call deletes.
const maxEndedRequests = 10

// SimnetKey implements simnet.Storage.
func (s *Storage) SimnetKey(ctx context.Context, fresh []byte) ([]byte, error) {
	sealed, err := answer(ctx, s.write, func(ctx context.Context, q querier) (sealed string, err error) {
		_, err = q.ExecContext(ctx, "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", simnetKey, s.box.Seal(simnetKeyPurpose, fresh))
		if err != nil {
			return "", err
		}
		err = q.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = $1", simnetKey).Scan(&sealed)
		return sealed, err
	})
	if err != nil {
		return nil, fmt.Errorf("store key of simnet: %w", err)
	}
	key, err := s.box.Open(simnetKeyPurpose, sealed)
	if err != nil {
		return nil, fmt.Errorf("read key of simnet: %w", err)
	}
	return key, nil
}

// AddSimnetRequest implements simnet.Storage. It deletes at most maxEndedRequests.
func (s *Storage) AddSimnetRequest(ctx context.Context, r simnet.PaymentRequest, endedBefore time.Time) error {
	err := s.write(ctx, func(ctx context.Context, q querier) error {
		_, err := q.ExecContext(ctx, `
			DELETE FROM simnet_requests WHERE hash IN (
				SELECT hash FROM simnet_requests WHERE ends_at < $1 ORDER BY ends_at LIMIT $2`+s.engine.SkipLocked+`)`,
			endedBefore.UnixMilli(), maxEndedRequests)
		if err != nil {
			return err
		}
		_, err = q.ExecContext(ctx, "INSERT INTO simnet_requests (hash, satoshis, ends_at, state) VALUES ($1, $2, $3, $4)",
			r.Hash, r.Satoshis, r.Until.UnixMilli(), string(r.State))
		return err
	})
	if err != nil {
		return fmt.Errorf("store payment request of simnet: %w", err)
	}
	return nil
}

// UpdateSimnetRequest implements simnet.Storage. Only the state of a request can change.
func (s *Storage) UpdateSimnetRequest(ctx context.Context, hash string, above int64, change func(*simnet.Chain, *simnet.PaymentRequest) error) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		if err := s.lockSimnet(ctx, q); err != nil {
			return err
		}
		r, err := readSimnetRequest(ctx, q, hash)
		if err != nil {
			return err
		}
		if err := s.updateSimnet(ctx, q, above, func(c *simnet.Chain) error { return change(c, &r) }); err != nil {
			return err
		}
		if _, err := q.ExecContext(ctx, "UPDATE simnet_requests SET state = $2 WHERE hash = $1", hash, string(r.State)); err != nil {
			return fmt.Errorf("write payment request of simnet: %w", err)
		}
		return nil
	})
}

func readSimnetRequest(ctx context.Context, q querier, hash string) (simnet.PaymentRequest, error) {
	r := simnet.PaymentRequest{Hash: hash}
	var until int64
	var state string
	err := q.QueryRowContext(ctx, "SELECT satoshis, ends_at, state FROM simnet_requests WHERE hash = $1", hash).Scan(&r.Satoshis, &until, &state)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return simnet.PaymentRequest{}, simnet.ErrUnknownRequest
	case err != nil:
		return simnet.PaymentRequest{}, fmt.Errorf("read payment request of simnet: %w", err)
	}
	r.Until, r.State = utc(until), simnet.RequestState(state)
	return r, nil
}
