// Package zone lists the names of the time zones of the IANA database, and loads zones: from the database of the system or,
// if there is none, from the copy in the program.
package zone

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for systems without a time zone database
)

// UTC is the name of the time zone UTC.
const UTC = "UTC"

// Lists of names, one per line: the zones of zone.tab, and other names of these zones, some of which browsers still use.
var (
	//go:embed names.txt
	nameLines string
	//go:embed aliases.txt
	aliasLines string
)

var (
	names = strings.Fields(nameLines)
	// spellings has every name by its form in lower case.
	spellings = map[string]string{}
	loaded    sync.Map // *time.Location by name
)

func init() {
	for _, name := range append([]string{UTC}, append(names, strings.Fields(aliasLines)...)...) {
		spellings[strings.ToLower(name)] = name
	}
}

// Names returns the names from which a person chooses: UTC, then one for each place, in alphabetical order.
func Names() []string { return append([]string{UTC}, names...) }

// Load returns the time zone with a name, such as Europe/Berlin. The case of letters does not matter. The String
// method of the zone returns its name in the database. For equal names Load returns the same pointer. The error is the rest of a sentence
// that begins with the name of a field.
func Load(name string) (*time.Location, error) {
	known, ok := spellings[strings.ToLower(name)]
	if !ok {
		return nil, fmt.Errorf("must be a time zone such as Europe/Berlin, not %q", name)
	}
	if known == UTC {
		return time.UTC, nil
	}
	if l, ok := loaded.Load(known); ok {
		return l.(*time.Location), nil
	}
	l, err := time.LoadLocation(known)
	if err != nil {
		return nil, fmt.Errorf("time zone %s: %w", known, err)
	}
	kept, _ := loaded.LoadOrStore(known, l)
	return kept.(*time.Location), nil
}

// Label returns the name of a zone with its abbreviation and its offset at a time, such as
// "Europe/Berlin (CET, UTC+01:00)". Zones without an abbreviation in letters have only the offset.
func Label(l *time.Location, at time.Time) string {
	if l == time.UTC {
		return UTC
	}
	at = at.In(l)
	short, offset := at.Format("MST"), "UTC"+at.Format("-07:00")
	if strings.ContainsAny(short[:1], "+-") || short == UTC {
		return fmt.Sprintf("%s (%s)", l, offset)
	}
	return fmt.Sprintf("%s (%s, %s)", l, short, offset)
}
