package programtest_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"chequer/internal/programtest"
)

// abandonVariable is the environment variable with which the test binary starts a program and exits
// without ending it.
const abandonVariable = "PROGRAMTEST_ABANDON"

func TestMain(m *testing.M) {
	if os.Getenv(abandonVariable) == "" {
		os.Exit(m.Run())
	}
	command := exec.Command("sleep", "600")
	command.Stdout = os.Stdout
	if _, err := programtest.Start(command); err != nil {
		panic(err)
	}
}

func TestStart_kills_the_program_when_its_parent_ends(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0])
	command.Env = append(os.Environ(), abandonVariable+"=yes")
	command.WaitDelay = time.Minute
	if output, err := command.Output(); err != nil { // Output waits for all programs that inherit the output
		t.Errorf("the program is still running: %v, %s", err, output)
	}
}

func TestKill_waits_for_the_end_of_the_program(t *testing.T) {
	t.Parallel()
	p, err := programtest.Start(exec.Command("sleep", "600"))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Ended:
		t.Error("the program ended by itself")
	default:
	}
	p.Kill()
	select {
	case <-p.Ended:
	default:
		t.Error("the program is still running")
	}
}
