package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"chequer/internal/merchant"
)

// built is the program's executable, built once.
var built struct {
	once sync.Once
	path string
	err  error
}

func binary(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		var folder string
		if folder, built.err = os.MkdirTemp("", "chequer"); built.err != nil { //nolint:usetesting // shared by all tests
			return
		}
		built.path = filepath.Join(folder, "chequer")
		output, err := exec.Command("go", "build", "-o", built.path, "chequer/cmd/chequer").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("build: %w: %s", err, output)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// process is the program in a process of its own, which tests can kill.
type process struct {
	t       *testing.T
	url     string
	key     merchant.Key // the demo shop's key
	environ []string
	command *exec.Cmd
}

// run runs a command of the program and returns its output.
func (p *process) run(args ...string) []byte {
	p.t.Helper()
	return p.runWith("", args...)
}

// runWith is run with a standard input.
func (p *process) runWith(input string, args ...string) []byte {
	p.t.Helper()
	c := exec.CommandContext(p.t.Context(), binary(p.t), args...)
	c.Env, c.Stdin = p.environ, strings.NewReader(input)
	var errs bytes.Buffer
	c.Stderr = &errs
	output, err := c.Output()
	if err != nil {
		p.t.Fatalf("chequer %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return output
}

// serve starts the server, and returns when it is listening.
func (p *process) serve() { p.t.Helper(); p.startCommand("serve", "listens on") }

// demo starts the demo shop, reads its key, and returns when it is listening.
func (p *process) demo() {
	p.t.Helper()
	for _, line := range p.startCommand("demo", "Secret") {
		switch words := strings.Fields(line); {
		case strings.Contains(line, "Test key"):
			p.key.Key = words[len(words)-1]
		case strings.Contains(line, "Secret"):
			p.key.Secret = words[len(words)-1]
		}
	}
}

// startCommand starts a command that keeps running, and returns its output up to the line with the given
// words.
func (p *process) startCommand(name, words string) []string {
	p.t.Helper()
	p.command = exec.Command(binary(p.t), name)
	p.command.Env = p.environ
	out, err := p.command.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(p.kill)
	var printed []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		printed = append(printed, lines.Text())
		if strings.Contains(lines.Text(), words) {
			return printed
		}
	}
	p.t.Fatalf("%s printed %q, want a line with %q", name, printed, words)
	return nil
}

// interrupt stops the program as Ctrl-C does.
func (p *process) interrupt() {
	if p.command == nil {
		return
	}
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	if err := p.command.Wait(); err != nil {
		p.t.Errorf("interrupted: %v", err)
	}
	p.command = nil
}

// kill stops the program as a power failure does.
func (p *process) kill() {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
	p.command = nil
}
