package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// maxLine bounds a typed line, in bytes. 24 words have at most 215.
const maxLine = 4096

var errLine = errors.New("the line is too long")

// Console reads lines from a terminal, or from a file or a pipe, which it reads no further than it has to.
type Console struct {
	In  *os.File
	Out io.Writer // shows the questions
}

// Secret asks for a line. A terminal does not show it.
func (c Console) Secret(ctx context.Context, question string) ([]byte, error) {
	fmt.Fprint(c.Out, question)
	descriptor := int(c.In.Fd())
	state, err := term.GetState(descriptor)
	if err != nil { // not a terminal
		fmt.Fprintln(c.Out)
		return await(ctx, func() ([]byte, error) { return readLine(c.In) })
	}
	defer fmt.Fprintln(c.Out)
	line, err := await(ctx, func() ([]byte, error) { return readHidden(c.In) })
	if ctx.Err() != nil {
		err = errors.Join(err, term.Restore(descriptor, state))
	}
	return line, err
}

// Line asks for a line.
func (c Console) Line(ctx context.Context, question string) (string, error) {
	fmt.Fprint(c.Out, question)
	line, err := await(ctx, func() ([]byte, error) { return readLine(c.In) })
	if !term.IsTerminal(int(c.In.Fd())) {
		fmt.Fprintln(c.Out)
	}
	return string(line), err
}

// readLine reads a line without its end. The error is io.EOF if there is none.
func readLine(r io.Reader) ([]byte, error) {
	line := make([]byte, 0, maxLine) // is not copied when it grows
	for {
		if len(line) == maxLine {
			clear(line)
			return nil, errLine
		}
		n, err := r.Read(line[len(line) : len(line)+1])
		line = line[:len(line)+n]
		switch {
		case n > 0 && line[len(line)-1] == '\n':
			return trimEnd(line), nil
		case errors.Is(err, io.EOF) && len(line) > 0:
			return trimEnd(line), nil
		case err != nil:
			clear(line)
			return nil, err
		}
	}
}

// trimEnd returns a line without its line feed and carriage return.
func trimEnd(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

// await returns the result of read, or the error of the context if it ends before. In that case the goroutine of read
// ends with the program.
func await(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		line, err := read()
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		return a.line, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
