package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// DataVersion returns a number that changes when another process writes to the database. On PostgreSQL it is
// always 0. Commits of this process do not change the number. See SQLite, "PRAGMA data_version".
func (e *Engine) DataVersion(ctx context.Context) (int64, error) {
	if e.IsPostgres() {
		return 0, nil
	}
	return Answer(ctx, e.Write, func(ctx context.Context, q Querier) (version int64, err error) {
		err = q.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version)
		return version, err
	})
}

// Announce sends a text of at most 7,999 bytes to the processes that listen to a channel of the
// database. SQLite has no announcements, so it does nothing there. See PostgreSQL, "NOTIFY".
func (e *Engine) Announce(ctx context.Context, channel, text string) error {
	if !e.IsPostgres() {
		return nil
	}
	return e.Read(ctx, func(ctx context.Context, q Querier) error {
		_, err := q.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, text)
		return err
	})
}

// Listen calls connected, and then received with each text that is announced on a channel, until the
// context ends or the connection is lost. It uses a separate connection. It returns errors.ErrUnsupported
// on SQLite and behind a connection pooler, which may send the announcements to another client.
func (e *Engine) Listen(ctx context.Context, channel string, connected func(), received func(text string)) error {
	p, ok := e.database.(*postgres)
	if !ok {
		return errors.ErrUnsupported
	}
	config := p.pool.config.Copy()
	pooled, err := isPooled(ctx, config)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if pooled {
		return errors.ErrUnsupported
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	connected()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		received(n.Payload)
	}
}
