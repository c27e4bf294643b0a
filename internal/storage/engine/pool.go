package engine

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

// connectTimeout limits the time for connecting to one address, unless the URL sets another timeout.
const connectTimeout = 5 * time.Second

// maxLifetime is the time after which a connection is replaced. The new connection resolves the host
// name again, which may point to another server by then.
const maxLifetime = 15 * time.Minute

// pool is the state shared by the connections to one PostgreSQL. It is safe for concurrent use.
type pool struct {
	config *pgx.ConnConfig
	// generation is incremented when a connection is found to lead to a server that accepts no
	// writes. Connections of an earlier generation are closed instead of reused.
	generation atomic.Int64

	mu     sync.Mutex
	mode   pgx.QueryExecMode
	probed bool // mode is known
}

// openPostgres returns a pool of connections to servers that accept writes. It does not connect yet.
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
	p := &pool{config: config, mode: config.DefaultQueryExecMode}
	p.probed = p.mode != pgx.QueryExecModeCacheStatement // the URL sets another mode
	db := stdlib.OpenDB(*config,
		stdlib.OptionBeforeConnect(p.beforeConnect),
		stdlib.OptionAfterConnect(p.afterConnect),
		stdlib.OptionResetSession(p.resetSession))
	db.SetConnMaxLifetime(maxLifetime)
	return db, p, nil
}

// beforeConnect chooses how statements are sent. If there is a connection pooler, named prepared
// statements are not used, because a pooler may run each transaction on another connection to the server. See
// PgBouncer, "Features": transaction pooling.
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

// isPooled reports whether there is a connection pooler. A pooler announces another backend process than
// the process that executes the statement. See PostgreSQL, "Frontend/Backend Protocol": BackendKeyData.
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
		return false, fmt.Errorf("detect a connection pooler: %w", err)
	}
	return process != conn.PgConn().PID(), nil
}

// generationKey is the key of a connection's generation in its custom data.
const generationKey = "chequer generation"

// afterConnect records the current generation in a new connection.
func (p *pool) afterConnect(_ context.Context, conn *pgx.Conn) error {
	conn.PgConn().CustomData()[generationKey] = p.generation.Load()
	return nil
}

// resetSession is called before a connection is reused. It refuses connections of earlier generations.
func (p *pool) resetSession(_ context.Context, conn *pgx.Conn) error {
	if conn.PgConn().CustomData()[generationKey] != p.generation.Load() {
		return driver.ErrBadConn
	}
	return nil
}

// noteError starts a new generation if an error means that a server accepts no writes, so that all earlier
// connections are closed before their next use.
func (p *pool) noteError(err error) {
	if isReadOnlyServer(err) {
		p.generation.Add(1)
	}
}

// isReadOnlyServer reports whether an error means that a server accepts no writes, as after a failover:
// read_only_sql_transaction. See PostgreSQL, appendix A.
func isReadOnlyServer(err error) bool {
	fault, ok := errors.AsType[*pgconn.PgError](err)
	return ok && fault.Code == "25006"
}
