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

	command  *exec.Cmd
	watchdog *exec.Cmd // kills the program when alive is closed
	// alive is the standard input of the watchdog. The system closes it when the test's process ends.
	alive io.Closer
}

// Start starts a command, and a watchdog that kills it when the test's process ends.
func Start(command *exec.Cmd) (*Process, error) {
	if err := command.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = command.Wait()
	}()
	watchdog := exec.Command("sh", "-c", `cat >/dev/null; kill -9 "$1"`, "watchdog", strconv.Itoa(command.Process.Pid))
	alive, err := watchdog.StdinPipe()
	if err == nil {
		err = watchdog.Start()
	}
	if err != nil {
		_ = command.Process.Kill()
		<-done
		return nil, err
	}
	return &Process{Ended: done, command: command, watchdog: watchdog, alive: alive}, nil
}

// Kill ends the program immediately, if it has not ended, and waits for its end. It ends the watchdog
// first, so that the watchdog cannot kill another process with the same ID.
func (p *Process) Kill() {
	_ = p.watchdog.Process.Kill()
	_ = p.watchdog.Wait()
	_ = p.alive.Close()
	_ = p.command.Process.Kill()
	<-p.Ended
}
