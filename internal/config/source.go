package config

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// SystemFile is the settings file of an installation.
const SystemFile = "/etc/chequer/chequer.env"

// WithSystemFile returns an environment in which CHEQUER_CONFIG names the settings file at path, if
// that file exists and no other file is selected: neither CHEQUER_CONFIG nor CHEQUER_DATA_DIR is
// set, and the default data directory has no settings file.
func WithSystemFile(environ []string, path string) []string {
	chosen := func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		base, _ := settingName(name)
		return value != "" && (base == configSetting || base == dataDirSetting)
	}
	if slices.ContainsFunc(environ, chosen) || exists(filepath.Join(defaultDataDir, fileName)) || !exists(path) {
		return environ
	}
	return append(slices.Clip(environ), configSetting+"="+path)
}

// exists reports whether a file exists, readable or not.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// fileName is the name of the settings file in the data directory.
const fileName = "chequer.env"

// defaultDataDir is the data directory unless a setting names another.
const defaultDataDir = "data"

// maxFileSize bounds the size of a settings file and of a file with one value, in bytes.
const maxFileSize = 1 << 20

// values are the given settings by name, with their sources.
type values struct {
	value  map[string]string
	source map[string]string
	// unknown has an error for each CHEQUER_ name that is not a setting.
	unknown []error
}

// read collects the settings from the environment and from the settings file, whose
// path it returns. A setting in the environment takes precedence over the file.
func read(environ []string) (v values, file string, errs []error) {
	v = values{value: map[string]string{}, source: map[string]string{}}
	var fromEnvironment []assignment
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		fromEnvironment = append(fromEnvironment, assignment{name: name, value: value})
	}
	errs = v.add(fromEnvironment, "environment")
	file, inFile, err := readFile(v.value)
	if err != nil {
		return v, file, append(errs, err)
	}
	inFile = slices.DeleteFunc(inFile, func(a assignment) bool { return v.isGiven(a.name) })
	return v, file, append(errs, v.add(inFile, file)...)
}

// readFile finds and reads the settings file, which CHEQUER_CONFIG names. The default is chequer.env in
// the data directory. The path is empty if there is no such file.
func readFile(environment map[string]string) (string, []assignment, error) {
	if path := environment[configSetting]; path != "" {
		found, err := parseFile(path)
		return path, found, err
	}
	dir, isSet := environment[dataDirSetting]
	if !isSet {
		dir = defaultDataDir
	}
	path := filepath.Join(dir, fileName)
	found, err := parseFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	for _, a := range found {
		if a.name == dataDirSetting && filepath.Clean(a.value) != filepath.Clean(dir) {
			return path, nil, fmt.Errorf("%s:%d: %s must not differ from the directory of this file", path, a.line, dataDirSetting)
		}
	}
	return path, found, err
}

// The settings that decide which settings file is read.
const (
	configSetting  = prefix + "CONFIG"
	dataDirSetting = prefix + "DATA_DIR"
)

// assignment is a NAME=VALUE pair; line is its line in the file, or 0 outside of a file.
type assignment struct {
	name, value string
	line        int
}

// parseFile reads a settings file: lines NAME=VALUE as systemd's EnvironmentFile
// and Docker's --env-file take them, without expansion or escapes. A line that
// begins with # or ; is a comment, and one pair of quotes around a value is removed.
func parseFile(path string) ([]assignment, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("settings file: %s is not a regular file", path)
	}
	text, err := readLimited(path)
	if err != nil {
		return nil, fmt.Errorf("settings file: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var found []assignment
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxFileSize+1)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, isPair := strings.Cut(line, "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
		if !isPair || !isSettingName(name) {
			return nil, fmt.Errorf("%s:%d: must be NAME=VALUE or a comment that begins with #", path, number)
		}
		if slices.ContainsFunc(found, func(a assignment) bool { return a.name == name }) {
			return nil, fmt.Errorf("%s:%d: %s is set twice", path, number, name)
		}
		value, err := unquote(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", path, number, name, err)
		}
		found = append(found, assignment{name: name, value: value, line: number})
	}
	return found, lines.Err()
}

// readLimited reads a regular file or a pipe of at most maxFileSize bytes.
func readLimited(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); !mode.IsRegular() && mode&fs.ModeNamedPipe == 0 {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err == nil && len(text) > maxFileSize {
		err = fmt.Errorf("larger than %d bytes", maxFileSize)
	}
	return text, err
}

// isSettingName reports whether name can be the name of an environment variable.
func isSettingName(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// unquote removes the quotes around a value.
func unquote(value string) (string, error) {
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return value, nil
	}
	inside, after, isClosed := strings.Cut(value[1:], value[:1])
	switch {
	case !isClosed:
		return "", errors.New("the closing quote is missing")
	case after != "":
		return "", errors.New("there is text after the closing quote")
	}
	return inside, nil
}

// isGiven reports whether a setting has a value, by its name or by NAME_FILE.
func (v values) isGiven(name string) bool {
	base, _ := settingName(name)
	_, ok := v.value[base]
	return ok
}

// settingName returns the name of the setting of an assignment, and reports whether the value is the
// path of a file that contains the setting's value.
func settingName(name string) (base string, isFile bool) {
	if base, isFile := strings.CutSuffix(name, "_FILE"); isFile && isSetting(base) && !isSetting(name) {
		return base, true
	}
	return name, false
}

// add adds the settings among assignments from one source and returns all faults. An empty value
// counts as not given.
func (v *values) add(assignments []assignment, source string) []error {
	var errs []error
	fault := func(a assignment, format string, args ...any) {
		errs = append(errs, a.fault(source, format, args...))
	}
	for _, a := range assignments {
		if !strings.HasPrefix(a.name, prefix) || a.value == "" {
			continue
		}
		name, isFile := settingName(a.name)
		if !isSetting(name) {
			v.unknown = append(v.unknown, a.fault(source, "there is no such setting"))
			continue
		}
		if _, isSet := v.value[name]; isSet {
			fault(assignment{name: name, line: a.line}, "given both as a value and as a file")
			continue
		}
		value, origin := a.value, source
		if isFile {
			content, err := readLimited(a.value)
			if path, ok := errors.AsType[*fs.PathError](err); ok {
				err = path.Err // the path may be the secret itself, given by mistake
			}
			value, origin = strings.TrimSpace(string(content)), "file "+a.value
			if err != nil {
				fault(a, "%w", err)
			} else if value == "" {
				fault(a, "the file is empty")
			}
		}
		v.value[name], v.source[name] = value, origin
	}
	return errs
}

// fault returns an error about an assignment, with its line if it is in a file.
func (a assignment) fault(source, format string, args ...any) error {
	err := fmt.Errorf(a.name+": "+format, args...)
	if a.line > 0 {
		err = fmt.Errorf("%s:%d: %w", source, a.line, err)
	}
	return err
}
