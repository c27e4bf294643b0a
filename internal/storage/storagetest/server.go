package storagetest

import (
	"bytes"
	"path/filepath"
	"testing"
)

// Server is a PostgreSQL server of a single test, which can be stopped.
type Server struct{ cluster *cluster }

// NewServer starts a server that ends with the test. If PostgreSQL is not installed, the test is
// skipped, but fails in CI.
func NewServer(t testing.TB) *Server {
	t.Helper()
	needPostgres(t)
	c, err := startCluster()
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	t.Cleanup(func() { c.alive.Close() })
	return &Server{cluster: c}
}

// URL returns the URL of an empty database of the server.
func (s *Server) URL() string { return s.cluster.url("postgres") }

// Stop stops the server, in PostgreSQL's mode "fast" or "immediate".
func (s *Server) Stop(t testing.TB, mode string) { s.control(t, "stop", "-m", mode) }

// Start starts the server again and returns when it accepts connections.
func (s *Server) Start(t testing.TB) {
	s.control(t, "start", "-l", filepath.Join(s.cluster.data, "log"))
}

// control runs pg_ctl for the server and waits until it has succeeded.
func (s *Server) control(t testing.TB, arguments ...string) {
	t.Helper()
	command := asPostgres(filepath.Join(binaries(), "pg_ctl"), append([]string{"-D", s.cluster.data, "-w"}, arguments...)...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("pg_ctl %s: %v: %s", arguments[0], err, bytes.TrimSpace(output))
	}
}
