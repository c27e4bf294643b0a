package console

import (
	"io"
	"os"
	"slices"

	"golang.org/x/term"
)

// Colours colours text if it is true, and leaves text unchanged otherwise.
type Colours bool

// Colours reports whether a writer is a terminal on which colours are wanted. See no-color.org.
func (p *Printer) Colours(w io.Writer) Colours {
	file, ok := w.(*os.File)
	unwanted := slices.ContainsFunc(p.Environ, func(pair string) bool {
		return pair == "TERM=dumb" || len(pair) > len("NO_COLOR=") && pair[:len("NO_COLOR=")] == "NO_COLOR="
	})
	return Colours(ok && !unwanted && term.IsTerminal(int(file.Fd())))
}

// Success colours a text as success.
func (c Colours) Success(text string) string { return c.inColour("32", text) }

// Failure colours a text as failure.
func (c Colours) Failure(text string) string { return c.inColour("31", text) }

// Secondary colours a text that is less important.
func (c Colours) Secondary(text string) string { return c.inColour("2", text) }

// inColour returns a text in a colour. See ECMA-48, section 8.3.117.
func (c Colours) inColour(code, text string) string {
	if !c {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
