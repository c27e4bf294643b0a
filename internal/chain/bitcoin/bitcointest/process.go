package bitcointest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"chequer/internal/programtest"
)

// patience is how long a node may take to do something on a busy machine.
const patience = time.Minute

// Start starts a stopped node on the data and the addresses that it had, and
// returns when it answers. btcd has forgotten the transactions that waited.
func (n *Node) Start(t *testing.T) {
	t.Helper()
	output := filepath.Join(n.Dir, "output")
	log, err := os.Create(output)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command(n.software.path(), append(n.software.arguments(n), n.arguments...)...)
	command.Dir = n.Dir
	command.Env = append(os.Environ(), "HOME="+n.Dir)
	command.Stdout, command.Stderr = log, log
	if n.process, err = programtest.Start(command); err != nil {
		t.Fatalf("start %s: %v", n.software.name, err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := n.call(t.Context(), nil, "getblockcount")
		if err == nil {
			return
		}
		select {
		case <-n.process.Ended:
		default:
			if time.Now().Before(deadline) {
				continue
			}
		}
		text, _ := os.ReadFile(output)
		t.Fatalf("%s does not answer: %v\n%s", n.software.name, err, text[max(0, len(text)-2000):])
	}
}

// Stop asks the node to end and returns when it has.
func (n *Node) Stop(t *testing.T) {
	t.Helper()
	n.Call(t, nil, "stop")
	select {
	case <-n.process.Ended:
	case <-time.After(patience):
		t.Fatalf("%s does not stop", n.software.name)
	}
	n.kill()
}

// Kill ends the node at once. What it had not written yet is lost: as a rule all
// blocks since it was started, so a test that wants to keep them restarts it
// before.
func (n *Node) Kill(*testing.T) { n.kill() }

// Restart stops the node and starts it again.
func (n *Node) Restart(t *testing.T) {
	t.Helper()
	n.Stop(t)
	n.Start(t)
}

func (n *Node) kill() {
	if n.process != nil {
		n.process.Kill()
		n.process = nil
		n.disconnect()
	}
}

// until waits for what the node is to show.
func (n *Node) until(t *testing.T, what string, shown func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !shown(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not show %s", n.software.name, what)
		}
	}
}
