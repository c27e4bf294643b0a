package programtest_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"chequer/internal/programtest"
)

// leaving tells the test's own program to start another and to leave it behind.
const leaving = "PROGRAMTEST_LEAVING"

func TestMain(m *testing.M) {
	if os.Getenv(leaving) == "" {
		os.Exit(m.Run())
	}
	command := exec.Command("sleep", "600")
	command.Stdout = os.Stdout
	if _, err := programtest.Start(command); err != nil {
		panic(err)
	}
}

func TestStart_leaves_nothing_behind(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0])
	command.Env = append(os.Environ(), leaving+"=yes")
	command.WaitDelay = time.Minute
	if out, err := command.Output(); err != nil { // it lasts as long as what it started
		t.Errorf("the program goes on: %v, %s", err, out)
	}
}

func TestKill_returns_when_the_program_has_ended(t *testing.T) {
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
		t.Error("the program goes on")
	}
}
