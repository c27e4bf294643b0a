package bitcointest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"chequer/internal/programtest"
)

// timeout limits one action of a node. It is long, because the machine may be busy.
const timeout = time.Minute

// Start starts a stopped node with its existing data and addresses, and returns when it answers. The
// mempool of btcd is empty after a restart.
func (n *Node) Start(t testing.TB) {
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
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
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

// Stop stops the node and returns when it has ended.
func (n *Node) Stop(t testing.TB) {
	t.Helper()
	n.Call(t, nil, "stop")
	select {
	case <-n.process.Ended:
	case <-time.After(timeout):
		t.Fatalf("%s does not stop", n.software.name)
	}
	n.kill()
}

// Kill ends the node at once. Unwritten data is lost, usually all blocks since its
// start. Call Restart before to keep them.
func (n *Node) Kill(testing.TB) { n.kill() }

// Restart stops the node and starts it again.
func (n *Node) Restart(t testing.TB) {
	t.Helper()
	n.Stop(t)
	n.Start(t)
}

// kill ends the process, if it runs, and closes the connections to it.
func (n *Node) kill() {
	if n.process != nil {
		n.process.Kill()
		n.process = nil
		n.disconnect()
	}
}

// until waits until isTrue returns true, and fails the test after timeout. condition describes the expected state in
// the message.
func (n *Node) until(t testing.TB, condition string, isTrue func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !isTrue(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not show %s", n.software.name, condition)
		}
	}
}
