package storagetest

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"chequer/internal/programtest"
)

// Standby starts a synchronous standby of the server, and stops it at the end of the test. The server then commits a
// transaction only when the standby has it. See PostgreSQL, "Log-Shipping Standby Servers".
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	data, err := os.MkdirTemp(serverFolder(), "chequer-pg-") //nolint:usetesting // the server deletes it
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{data: data}
	if c.port, err = programtest.FreePort("127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	s.copyTo(t, c)
	if err := c.run(data); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.alive.Close() })
	if err := c.wait(data); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := run(s.URL(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return &Server{cluster: c}
}

// Rejoin starts a stopped server again, as a standby of the primary and with the primary's data.
func (s *Server) Rejoin(t testing.TB, primary *Server) {
	t.Helper()
	primary.copyTo(t, s.cluster)
	s.Start(t)
}

// copyTo replaces the data of a stopped cluster by a copy of the server's, and makes it a standby of the server.
func (s *Server) copyTo(t testing.TB, standby *cluster) {
	t.Helper()
	if err := os.RemoveAll(standby.data); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(standby.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := changeOwner(standby.data); err != nil {
		t.Fatal(err)
	}
	backup := asPostgres(filepath.Join(binaries(), "pg_basebackup"),
		"-d", s.URL(), "-D", standby.data, "-R", "-X", "stream", "-c", "fast")
	if output, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v: %s", err, bytes.TrimSpace(output))
	}
	file, err := os.OpenFile(filepath.Join(standby.data, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, standbySettings, standby.port, standby.data); err != nil {
		t.Fatal(err)
	}
}

// standbySettings are the settings of a standby that differ from its primary's.
const standbySettings = `
port = %d
unix_socket_directories = '%s'
synchronous_standby_names = ''
`

// Promote makes a standby the primary, which commits transactions without waiting for a standby.
func (s *Server) Promote(t testing.TB) { s.control(t, "promote") }

// WaitForStandby returns when a standby receives the server's changes.
func (s *Server) WaitForStandby(t testing.TB) {
	t.Helper()
	const streaming = "SELECT 1 / COUNT(*) FROM pg_stat_replication WHERE state = 'streaming'"
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		err := run(s.URL(), streaming) // fails with a division by zero while there is none
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no standby follows: %v", err)
		}
	}
}

// URLOfServers returns the URL of a database that is on one of several servers.
func URLOfServers(t testing.TB, servers ...*Server) string {
	t.Helper()
	u, err := url.Parse(servers[0].URL())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers[1:] {
		u.Host += fmt.Sprintf(",127.0.0.1:%d", s.cluster.port)
	}
	return u.String()
}
