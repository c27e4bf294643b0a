package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"chequer/internal/durable"
)

// Save writes a setting into the settings file. It creates the file in the data directory if
// there is none, and keeps all other lines. If it fails, the error describes how to set it by hand.
func (c Config) Save(name, value string) error {
	path, source := c.File(), c.Source(name)
	if source == "environment" {
		return fmt.Errorf("the environment sets %s: set %s=%s there and start chequer serve again", name, name, value)
	}
	if file, isFile := strings.CutPrefix(source, "file "); isFile {
		return fmt.Errorf("%s holds %s: write %s into it and start chequer serve again", file, name, value)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = durable.Update(path, []byte(SetLine(string(text), name, value)))
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written (%w): add the line %s=%s to it and start chequer serve again", path, err, name, value)
	}
	return nil
}
