//go:build !linux

package offline

import (
	"os"

	"golang.org/x/term"
)

// readHidden reads a line from a terminal that does not show it.
func readHidden(terminal *os.File) ([]byte, error) { return term.ReadPassword(int(terminal.Fd())) }
