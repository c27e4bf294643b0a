package storage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// connectTimeout is how long connecting to one address may take, unless the URL says
// otherwise.
const connectTimeout = 5 * time.Second

// maxLifetime is how long a connection is used, so that a name that has moved to
// another server is asked for again.
const maxLifetime = 15 * time.Minute

// pool is what the connections to one PostgreSQL have in common. It is safe for
// concurrent use.
type pool struct {
	// generation grows when a connection turns out to lead to a server that does not
	// take writes. Connections of an earlier one are closed instead of used again.
	generation atomic.Int64

	mu     sync.Mutex
	mode   pgx.QueryExecMode
	probed bool // mode is known
}

// openPostgres returns a pool of connections to servers that take writes. Nothing is
// asked of them yet.
func openPostgres(url string) (*sql.DB, *pool, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	p := &pool{mode: config.DefaultQueryExecMode}
	p.probed = p.mode != pgx.QueryExecModeCacheStatement // the URL names another one
	db := stdlib.OpenDB(*config,
		stdlib.OptionBeforeConnect(p.beforeConnect),
		stdlib.OptionAfterConnect(p.afterConnect),
		stdlib.OptionResetSession(p.resetSession))
	db.SetConnMaxLifetime(maxLifetime)
	return db, p, nil
}

// beforeConnect chooses how statements are sent: without named prepared statements
// where a pooler stands between, which may give each transaction another connection to
// the server. See PgBouncer, "Features": transaction pooling.
func (p *pool) beforeConnect(ctx context.Context, config *pgx.ConnConfig) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.probed {
		pooled, err := isPooled(ctx, config)
		if err != nil {
			return err
		}
		if pooled {
			p.mode = pgx.QueryExecModeCacheDescribe
		}
		p.probed = true
	}
	config.DefaultQueryExecMode = p.mode
	return nil
}

// isPooled reports whether a pooler stands between: it names another process than the
// one that answers. See PostgreSQL, "Frontend/Backend Protocol": BackendKeyData.
func isPooled(ctx context.Context, config *pgx.ConnConfig) (bool, error) {
	config = config.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, err
	}
	defer conn.Close(ctx)
	var process uint32
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&process); err != nil {
		return false, fmt.Errorf("look for a connection pooler: %w", err)
	}
	return process != conn.PgConn().PID(), nil
}

// generationKey is where a connection keeps the generation that it belongs to.
const generationKey = "chequer generation"

func (p *pool) afterConnect(_ context.Context, conn *pgx.Conn) error {
	conn.PgConn().CustomData()[generationKey] = p.generation.Load()
	return nil
}

// resetSession is called before a connection is used again.
func (p *pool) resetSession(_ context.Context, conn *pgx.Conn) error {
	if conn.PgConn().CustomData()[generationKey] != p.generation.Load() {
		return driver.ErrBadConn
	}
	return nil
}

// note closes all connections, before they are used again, after an error that says
// that one of them leads to a server that does not take writes.
func (p *pool) note(err error) {
	if readOnly(err) {
		p.generation.Add(1)
	}
}

// readOnly reports whether an error says that a server does not take writes, as after
// a failover: read_only_sql_transaction. See PostgreSQL, appendix A.
func readOnly(err error) bool {
	fault, ok := errors.AsType[*pgconn.PgError](err)
	return ok && fault.Code == "25006"
}
