package books

import (
	"fmt"
	"strings"
	"time"
)

// Dialect is a form of an exported file.
type Dialect string

// The dialects.
const (
	// CSV is the canonical form, whose hash is signed: RFC 4180, UTC, decimal points.
	CSV Dialect = "csv"
	// ExcelDE is for spreadsheets with German settings: semicolons, decimal commas, UTF-8 with a byte order mark.
	ExcelDE Dialect = "excel-de"
	// DATEV is a batch of bookings for the programs of DATEV, in euro; see DATEVOptions.
	DATEV Dialect = "datev"
)

// Dialects are all dialects.
var Dialects = []Dialect{CSV, ExcelDE, DATEV}

// Exported is the content of a file with its name.
type Exported struct {
	Name    string
	Content []byte
}

// Export returns the files of a month in a dialect. options are those of DATEV, and unused for the others.
func (f File) Export(to Dialect, options DATEVOptions, now time.Time) ([]Exported, error) {
	name := "books-" + string(f.Month)
	if f.Statement == "" {
		name += "-draft"
	}
	switch to {
	case CSV:
		files := []Exported{{name + ".csv", []byte(f.CSV)}}
		if f.Statement != "" {
			files = append(files, Exported{name + ".txt", []byte(f.Statement)})
		}
		return files, nil
	case ExcelDE:
		return []Exported{{name + "-excel.csv", []byte(f.excel())}}, nil
	case DATEV:
		content, err := f.datev(options, now)
		if err != nil {
			return nil, err
		}
		return []Exported{{"EXTF_Buchungsstapel_" + strings.TrimPrefix(name, "books-") + ".csv", content}}, nil
	}
	return nil, fmt.Errorf("%q is not a dialect: choose csv, excel-de or datev", to)
}

// excel returns the file in the dialect ExcelDE.
func (f File) excel() string {
	var b strings.Builder
	b.WriteString("\ufeff" + csvRecord(names(), ';'))
	for i := range f.Lines {
		b.WriteString(csvRecord(f.Lines[i].cells(func(text string) string { return strings.Replace(text, ".", ",", 1) }), ';'))
	}
	return b.String()
}
