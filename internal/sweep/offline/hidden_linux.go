package offline

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// readHidden reads a line from a terminal that does not show it. Unlike term.ReadPassword it leaves no copies of the
// beginning of the line in memory. See termios(3).
func readHidden(terminal *os.File) (line []byte, err error) {
	descriptor := int(terminal.Fd())
	before, err := unix.IoctlGetTermios(descriptor, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	hidden.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(descriptor, unix.TCSETS, &hidden); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unix.IoctlSetTermios(descriptor, unix.TCSETS, before)) }()
	return readLine(terminal)
}
