package storagetest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"chequer/internal/programtest"
)

// cluster is a running PostgreSQL server.
type cluster struct {
	port int
	data string // its directory
	// alive keeps the server running. The server ends when this pipe is closed, so it also ends when this
	// process is killed.
	alive *os.File
}

// startTimeout limits the start of a server, which may be slow on a busy machine.
const startTimeout = time.Minute

// settings are for tests: no data needs to survive a crash of the machine. Without autovacuum, the statistics are those
// of the ANALYZE of a test that reads plans.
const settings = `
listen_addresses = '127.0.0.1'
port = %d
unix_socket_directories = '%s'
max_connections = 300
shared_buffers = 64MB
fsync = off
full_page_writes = off
deadlock_timeout = 50ms
autovacuum = off
max_wal_size = 128MB
log_min_messages = fatal
`

// supervisor runs the server until its input ends, then deletes the data.
const supervisor = `
bin=$1; data=$2
"$bin/postgres" -D "$data" >"$data/log" 2>&1 &
cat >/dev/null
"$bin/pg_ctl" -D "$data" -m immediate stop >/dev/null 2>&1
wait
rm -rf "$data"
`

// minMemory is the free space, in bytes, that /dev/shm needs for the data of servers. A server uses up to about
// 500 MB, and the tests of several packages run at the same time.
const minMemory = 4 << 30

// serverFolder returns the directory for the data of servers: /dev/shm, which is in memory, or the default directory
// for temporary files if /dev/shm does not exist or is too small. A new database has hundreds of files, so
// that making it on a disk takes many times longer.
func serverFolder() string {
	const memory = "/dev/shm"
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < minMemory {
		return os.TempDir()
	}
	return memory
}

// startCluster makes and starts a server on a free port, with its data in a new directory.
func startCluster() (*cluster, error) {
	data, err := os.MkdirTemp(serverFolder(), "chequer-pg-")
	if err != nil {
		return nil, err
	}
	if err := changeOwner(data); err != nil {
		return nil, err
	}
	initdb := asPostgres(filepath.Join(binaries(), "initdb"),
		"-D", data, "-U", "postgres", "-A", "trust", "-N", "--no-instructions", "-E", "UTF8")
	if output, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(output))
	}
	c := &cluster{data: data}
	if c.port, err = programtest.FreePort("127.0.0.1"); err != nil {
		return nil, err
	}
	config, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer config.Close()
	if _, err := fmt.Fprintf(config, settings, c.port, data); err != nil {
		return nil, err
	}
	if err := c.run(data); err != nil {
		return nil, err
	}
	return c, c.wait(data)
}

// run starts the supervisor, which starts the server.
func (c *cluster) run(data string) error {
	stdin, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	c.alive = alive
	shell := asPostgres("sh", "-c", supervisor, "supervisor", binaries(), data)
	shell.Stdin = stdin
	return shell.Start()
}

// wait returns when the server accepts statements.
func (c *cluster) wait(data string) error {
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		err := run(c.url("postgres"), "SELECT 1")
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(data, "log"))
			return fmt.Errorf("no answer: %w: %s", err, bytes.TrimSpace(log))
		}
	}
}

// asPostgres returns a command that runs as an ordinary user. PostgreSQL refuses to run as root, so
// as root the command runs as the user that its package made.
func asPostgres(name string, args ...string) *exec.Cmd {
	if os.Getuid() == 0 {
		args = append([]string{"--reuid=postgres", "--regid=postgres", "--clear-groups", name}, args...)
		name = "setpriv"
	}
	command := exec.Command(name, args...)
	command.Dir = "/"
	command.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interrupt of the tests must not reach the command
	return command
}

// changeOwner makes the user of asPostgres the owner of a directory.
func changeOwner(directory string) error {
	if os.Getuid() != 0 {
		return nil
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(owner.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(owner.Gid)
	if err != nil {
		return err
	}
	return os.Chown(directory, uid, gid)
}
