package main

import (
	"io"
	"os"
	"slices"

	"golang.org/x/term"
)

// ink colours text on a terminal and leaves it unchanged elsewhere.
type ink bool

// ink reports whether a writer is a terminal on which colours are wanted. See no-color.org.
func (s *shell) ink(w io.Writer) ink {
	file, ok := w.(*os.File)
	unwanted := slices.ContainsFunc(s.environ, func(pair string) bool {
		return pair == "TERM=dumb" || len(pair) > len("NO_COLOR=") && pair[:len("NO_COLOR=")] == "NO_COLOR="
	})
	return ink(ok && !unwanted && term.IsTerminal(int(file.Fd())))
}

// success, failure and secondary colour a text as success, as failure, and as secondary.
func (i ink) success(text string) string   { return i.in("32", text) }
func (i ink) failure(text string) string   { return i.in("31", text) }
func (i ink) secondary(text string) string { return i.in("2", text) }

// in returns a text in a colour. See ECMA-48, section 8.3.117.
func (i ink) in(code, text string) string {
	if !i {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
