// Package locale is the languages of the pages: their texts, and how they write
// money, numbers and times.
package locale

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"

	"golang.org/x/text/language"
)

//go:embed catalogue/*.json
var catalogues embed.FS

// All is every language that there is a catalogue of. The first is English.
var All = sync.OnceValue(func() *Languages {
	folder, err := fs.Sub(catalogues, "catalogue")
	if err != nil {
		panic("locale: " + err.Error())
	}
	all, err := open(folder)
	if err != nil {
		panic("locale: " + err.Error())
	}
	return all
})

// Languages are some to choose from. They do not change, so they are safe for
// concurrent use.
type Languages struct {
	list     []*Language
	byCode   map[string]*Language
	standard *Language
}

// Standard is the language of who asks for none of these.
func (l *Languages) Standard() *Language { return l.standard }

// List is the languages in the order of their codes.
func (l *Languages) List() []*Language { return l.list }

// Find is the language of a tag: for "de-CH" it is German.
func (l *Languages) Find(tag string) (*Language, bool) {
	parsed, err := language.Parse(tag)
	if err != nil {
		return nil, false
	}
	return l.of(parsed)
}

func (l *Languages) of(tag language.Tag) (*Language, bool) {
	base, _, _ := tag.Raw() // no guess from a region
	found, ok := l.byCode[base.String()]
	return found, ok
}

// Choose is the first language that a browser asks for and that there is, as
// Accept-Language says it, else the standard one. See RFC 9110, section 12.5.4.
func (l *Languages) Choose(accepted string) *Language {
	tags, _, err := language.ParseAcceptLanguage(accepted)
	if err != nil {
		return l.standard
	}
	for _, tag := range tags { // the most wanted first
		if found, ok := l.of(tag); ok {
			return found
		}
	}
	return l.standard
}

// Offer is those of the languages that a shop offers, all when it names none, and
// the one that it speaks by itself.
func (l *Languages) Offer(standard string, codes ...string) (*Languages, error) {
	offered := &Languages{byCode: map[string]*Language{}}
	for _, code := range codes {
		found, ok := l.byCode[code]
		if !ok {
			return nil, fmt.Errorf("%q is no language of the pages, which are %s", code, l.codes())
		}
		offered.byCode[code] = found
	}
	if len(codes) == 0 {
		offered.byCode = l.byCode
	}
	for _, one := range l.list {
		if offered.byCode[one.Code] != nil {
			offered.list = append(offered.list, one)
		}
	}
	if offered.standard = offered.byCode[standard]; offered.standard == nil {
		return nil, fmt.Errorf("%q is none of the languages offered, which are %s", standard, offered.codes())
	}
	return offered, nil
}

// codes are those of the languages, as a sentence lists them.
func (l *Languages) codes() string {
	text := ""
	for i, one := range l.list {
		if i > 0 {
			text += ", "
		}
		text += one.Code
	}
	return text
}
