package offline

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a pseudo-terminal: the keyboard and screen, and the end of the program. See pty(7).
func openTerminal(t *testing.T) (keyboard, program *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return keyboard, program
}

// echoes reports whether a terminal shows typed characters.
func echoes(t *testing.T, terminal *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// awaitNoEcho returns when a terminal does not show typed characters.
func awaitNoEcho(t *testing.T, terminal *os.File) {
	t.Helper()
	for echoes(t, terminal) {
		if t.Context().Err() != nil {
			t.Fatal("the terminal still shows typed characters")
		}
	}
}

func TestSecret_is_not_shown_at_a_terminal(t *testing.T) {
	t.Parallel()
	keyboard, program := openTerminal(t)
	c := Console{In: program, Out: program}
	secret := make(chan string, 1)
	go func() {
		line, err := c.Secret(t.Context(), "Words: ")
		if err != nil {
			t.Error(err)
		}
		secret <- string(line)
	}()
	awaitNoEcho(t, program)
	if _, err := io.WriteString(keyboard, "abandon about\n"); err != nil {
		t.Fatal(err)
	}
	if got := <-secret; got != "abandon about" {
		t.Errorf("secret = %q", got)
	}
	if !echoes(t, program) {
		t.Error("the terminal shows no typed characters after the secret")
	}
	if _, err := io.WriteString(program, "END"); err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	for buffer := make([]byte, 100); !strings.Contains(shown.String(), "END"); {
		n, err := keyboard.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(buffer[:n])
	}
	if got := shown.String(); !strings.HasPrefix(got, "Words: ") || strings.Contains(got, "abandon") {
		t.Errorf("shown = %q, want the question alone", got)
	}
}

func TestSecret_restores_the_terminal_when_it_is_interrupted(t *testing.T) {
	t.Parallel()
	keyboard, program := openTerminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := Console{In: program, Out: io.Discard}.Secret(ctx, "Words: ")
		failed <- err
	}()
	awaitNoEcho(t, program)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
	if !echoes(t, program) {
		t.Error("the terminal shows no typed characters after the interrupt")
	}
	if _, err := io.WriteString(keyboard, "\n"); err != nil { // ends the goroutine that reads
		t.Fatal(err)
	}
}
