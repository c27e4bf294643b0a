package console

import (
	"io"
	"os"
	"slices"

	"golang.org/x/term"
)

// Ink colours text on a terminal and leaves it unchanged elsewhere.
type Ink bool

// Ink reports whether a writer is a terminal on which colours are wanted. See no-color.org.
func (p *Printer) Ink(w io.Writer) Ink {
	file, ok := w.(*os.File)
	unwanted := slices.ContainsFunc(p.Environ, func(pair string) bool {
		return pair == "TERM=dumb" || len(pair) > len("NO_COLOR=") && pair[:len("NO_COLOR=")] == "NO_COLOR="
	})
	return Ink(ok && !unwanted && term.IsTerminal(int(file.Fd())))
}

// Success colours a text as success.
func (i Ink) Success(text string) string { return i.in("32", text) }

// Failure colours a text as failure.
func (i Ink) Failure(text string) string { return i.in("31", text) }

// Secondary colours a text that is less important.
func (i Ink) Secondary(text string) string { return i.in("2", text) }

// in returns a text in a colour. See ECMA-48, section 8.3.117.
func (i Ink) in(code, text string) string {
	if !i {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
