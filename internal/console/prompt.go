package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Prompt asks the operator at a terminal.
type Prompt struct {
	in  *bufio.Reader
	out io.Writer
}

// NewPrompt returns a new prompt, and reports whether standard input is a terminal.
func NewPrompt(c *cobra.Command) (Prompt, bool) {
	in, isFile := c.InOrStdin().(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) {
		return Prompt{}, false
	}
	return Prompt{in: bufio.NewReader(in), out: c.ErrOrStderr()}, true
}

// Confirm asks a question and reports whether the answer is yes. An empty answer is no.
func (p Prompt) Confirm(question string) (bool, error) {
	fmt.Fprint(p.out, question, " [y/N] ")
	text, err := p.in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(text))
	return answer == "y" || answer == "yes", nil
}

// ErrNoTerminal means that standard input is not a terminal.
var ErrNoTerminal = errors.New("there is no terminal")

// ReadSecret asks for a secret at the terminal, without an echo. The error is ErrNoTerminal if there
// is none.
func ReadSecret(ctx context.Context, question string) (string, error) {
	terminal := int(os.Stdin.Fd())
	before, err := term.GetState(terminal)
	if err != nil {
		return "", ErrNoTerminal
	}
	fmt.Fprint(os.Stderr, question)
	defer fmt.Fprintln(os.Stderr)
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // if nothing is typed, the goroutine ends with the program
		text, err := term.ReadPassword(terminal)
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		return string(a.text), a.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(terminal, before))
	}
}
