package programtest

import (
	"io"
	"os/exec"
	"strconv"
)

// Process is a running program. It is killed when the test's process ends, even if that process is
// killed.
type Process struct {
	// Ended is closed when the program has ended.
	Ended <-chan struct{}

	command *exec.Cmd
	watch   *exec.Cmd // kills the program when alive is closed
	alive   io.Closer
}

// Start starts a command, and a watch that kills it when the test's process ends.
func Start(command *exec.Cmd) (*Process, error) {
	if err := command.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = command.Wait()
	}()
	watch := exec.Command("sh", "-c", `cat >/dev/null; kill -9 "$1"`, "watch", strconv.Itoa(command.Process.Pid))
	alive, err := watch.StdinPipe()
	if err == nil {
		err = watch.Start()
	}
	if err != nil {
		_ = command.Process.Kill()
		<-done
		return nil, err
	}
	return &Process{Ended: done, command: command, watch: watch, alive: alive}, nil
}

// Kill ends the program immediately, if it has not ended, and waits for its end. It ends the watch
// first, so that the watch cannot kill another process with the same ID.
func (p *Process) Kill() {
	_ = p.watch.Process.Kill()
	_ = p.watch.Wait()
	_ = p.alive.Close()
	_ = p.command.Process.Kill()
	<-p.Ended
}
