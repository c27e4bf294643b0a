package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// prompt asks the operator at a terminal.
type prompt struct {
	in  *bufio.Reader
	out io.Writer
}

// newPrompt returns a new prompt, and whether standard input is a terminal.
func newPrompt(c *cobra.Command) (prompt, bool) {
	in, isFile := c.InOrStdin().(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) {
		return prompt{}, false
	}
	return prompt{in: bufio.NewReader(in), out: c.ErrOrStderr()}, true
}

// confirm asks a question and reports whether the answer is yes. An empty answer is no.
func (p prompt) confirm(question string) (bool, error) {
	fmt.Fprint(p.out, question, " [y/N] ")
	text, err := p.in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(text))
	return answer == "y" || answer == "yes", nil
}
