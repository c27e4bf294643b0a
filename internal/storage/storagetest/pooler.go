package storagetest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"chequer/internal/programtest"
)

// poolerSettings make the pooler run each transaction on another connection to the server.
const poolerSettings = `
[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir = %s
auth_type = trust
auth_file = %[4]s/users
pool_mode = transaction
default_pool_size = 4
server_round_robin = 1
`

// poolerSupervisor runs the pooler until its input ends.
const poolerSupervisor = `
pgbouncer -q "$1/pgbouncer.ini" >"$1/log" 2>&1 &
cat >/dev/null
kill $!
wait
rm -rf "$1"
`

// Pooler starts PgBouncer in transaction mode for the server of a database, and returns the URL of
// the database through it. PgBouncer ends with the test.
func Pooler(t testing.TB, database string) string {
	t.Helper()
	if _, err := exec.LookPath("pgbouncer"); err != nil {
		programtest.SkipUnlessCI(t, "PgBouncer is not installed")
	}
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "chequer-pooler-") //nolint:usetesting // poolerSupervisor deletes it
	if err != nil {
		t.Fatal(err)
	}
	port, err := programtest.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"pgbouncer.ini": fmt.Sprintf(poolerSettings, u.Hostname(), u.Port(), port, folder),
		"users":         `"postgres" ""` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := changeOwner(folder); err != nil {
		t.Fatal(err)
	}
	shell := asPostgres("sh", "-c", poolerSupervisor, "supervisor", folder)
	stdin, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := shell.Wait(); err != nil {
			t.Logf("PgBouncer: %v", err)
		}
	})
	u.Host = fmt.Sprintf("127.0.0.1:%d", port)
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		err := run(u.String()+"&default_query_exec_mode=simple_protocol", "SELECT 1")
		if err == nil {
			return u.String()
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(folder, "log"))
			t.Fatalf("PgBouncer does not answer: %v: %s", err, log)
		}
	}
}
