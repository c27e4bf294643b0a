package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"chequer/internal/evm"
)

// unmarshalStrict decodes one JSON object of a format and a version. It refuses other formats, newer versions,
// unknown fields and fields that are given twice.
func unmarshalStrict(content []byte, format string, version int, into any) error {
	if len(content) > MaxFile {
		return fmt.Errorf("the file is larger than %d bytes", MaxFile)
	}
	d := json.NewDecoder(bytes.NewReader(content))
	if err := checkNames(d, "", 0); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the JSON object")
	}
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return jsonError(err)
	}
	switch {
	case head.Format == planFormat && format == signedFormat:
		return errors.New("this is a plan, which is not signed: sign it with chequer sign, and give the signed file")
	case head.Format == signedFormat && format == planFormat:
		return errors.New("this is a signed file: give the plan")
	case head.Format != format:
		return fmt.Errorf("format: %q is not %q", printable(head.Format), format)
	case head.Version > version:
		return fmt.Errorf("version: %d is newer than %d, the newest that this program reads: update the program", head.Version, version)
	case head.Version != version:
		return fmt.Errorf("version: there is no version %d", head.Version)
	}
	strict := json.NewDecoder(bytes.NewReader(content))
	strict.DisallowUnknownFields()
	if err := strict.Decode(into); err != nil {
		return jsonError(err)
	}
	return nil
}

// jsonError returns a decoding error without the name of a package.
func jsonError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: a %s cannot be here", wrong.Field, wrong.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// maxNesting is the deepest nesting of the files.
const maxNesting = 5

// fieldName matches the names of the fields of all files. encoding/json also accepts names in another case.
var fieldName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// checkNames reads one value and returns an error if an object in it has a field twice.
func checkNames(d *json.Decoder, where string, depth int) error {
	token, err := d.Token()
	if err != nil {
		return notJSON(err)
	}
	if depth == 0 && token != json.Delim('{') {
		return errors.New("the file is not a JSON object")
	}
	if depth > maxNesting {
		return fmt.Errorf("%s is nested too deep", where)
	}
	switch token {
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			token, err := d.Token()
			if err != nil {
				return notJSON(err)
			}
			name, _ := token.(string)
			below := strings.TrimPrefix(where+"."+name, ".")
			if !fieldName.MatchString(name) {
				return fmt.Errorf("unknown field %q", printable(name))
			}
			if seen[name] {
				return fmt.Errorf("%s is given twice", below)
			}
			seen[name] = true
			if err := checkNames(d, below, depth+1); err != nil {
				return err
			}
		}
		return closing(d)
	case json.Delim('['):
		for i := 1; d.More(); i++ {
			if err := checkNames(d, where+" "+strconv.Itoa(i), depth+1); err != nil {
				return err
			}
		}
		return closing(d)
	}
	return nil
}

// closing reads the end of an object or an array.
func closing(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return notJSON(err)
	}
	return nil
}

// notJSON returns the error for a text that is not JSON.
func notJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file is empty or cut off")
	}
	return fmt.Errorf("not JSON: %w", err)
}

// maxQuoted is the longest text that an error repeats, in bytes.
const maxQuoted = 80

// printable returns the beginning of a text for an error; %q escapes characters that control a terminal.
func printable(text string) string {
	if len(text) > maxQuoted {
		return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return text
}

// maxAmount is the number above all numbers of the contract ABI.
var maxAmount = new(big.Int).Lsh(big.NewInt(1), 256)

// parseAmount parses a number of smallest units, written without leading zeros.
func parseAmount(text string) (*big.Int, error) {
	if len(text) > maxQuoted {
		return nil, errors.New("the number has more than 256 bits")
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || n.Sign() < 0 || n.String() != text {
		return nil, fmt.Errorf("%q is not a whole number of smallest units", printable(text))
	}
	if n.Cmp(maxAmount) >= 0 {
		return nil, errors.New("the number has more than 256 bits")
	}
	return n, nil
}

// parsePositive parses an amount above zero.
func parsePositive(text string) (*big.Int, error) {
	n, err := parseAmount(text)
	if err == nil && n.Sign() == 0 {
		return nil, errors.New("it is zero")
	}
	return n, err
}

// parseAddress parses an address with the checksum of EIP-55.
func parseAddress(text string) (evm.Address, error) {
	a, err := evm.ParseChecksummed(text)
	if err != nil {
		return a, fmt.Errorf("%q: %w", printable(text), err)
	}
	return a, nil
}

// parseTime parses a time in UTC in whole seconds (RFC 3339).
func parseTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UTC().Format(time.RFC3339) != text || at.Unix() <= 0 {
		return at, fmt.Errorf("%q is not a time such as 2026-12-05T14:00:00Z", printable(text))
	}
	return at.UTC(), nil
}

// euro matches an amount of euro with cents.
var euro = regexp.MustCompile(`^(0|[1-9][0-9]{0,12})\.[0-9]{2}$`)

// parseEuro parses an amount of euro, such as 0.31, as cents.
func parseEuro(text string) (int64, error) {
	if !euro.MatchString(text) {
		return 0, fmt.Errorf("%q is not an amount of euro such as 0.31", printable(text))
	}
	return strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
}

// within returns an error with the name of the place in front.
func within(place string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	return nil
}
