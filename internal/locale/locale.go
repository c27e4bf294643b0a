// Package locale holds the texts of the pages in all languages, and each language's formats of money,
// numbers and times.
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

// All returns every language that has a catalogue, with English as the default.
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

// Languages is a set of languages. It is immutable and therefore safe for concurrent use.
type Languages struct {
	list            []*Language
	byCode          map[string]*Language
	defaultLanguage *Language
}

// Default returns the language for readers whose languages are not in the set.
func (l *Languages) Default() *Language { return l.defaultLanguage }

// List returns the languages in the order of their codes.
func (l *Languages) List() []*Language { return l.list }

// Find returns the language of a tag. For "de-CH" it is German.
func (l *Languages) Find(tag string) (*Language, bool) {
	parsed, err := language.Parse(tag)
	if err != nil {
		return nil, false
	}
	return l.languageOf(parsed)
}

func (l *Languages) languageOf(tag language.Tag) (*Language, bool) {
	base, _, _ := tag.Raw() // Raw does not guess a language from a region
	found, ok := l.byCode[base.String()]
	return found, ok
}

// Choose returns the most preferred language of an Accept-Language header that the set has, or the
// default language. See RFC 9110, section 12.5.4.
func (l *Languages) Choose(accepted string) *Language {
	tags, _, err := language.ParseAcceptLanguage(accepted)
	if err != nil {
		return l.defaultLanguage
	}
	for _, tag := range tags { // in descending order of preference
		if found, ok := l.languageOf(tag); ok {
			return found
		}
	}
	return l.defaultLanguage
}

// Subset returns the set of the given languages, or of all if codes is empty, with the given default
// language.
func (l *Languages) Subset(defaultLanguage string, codes ...string) (*Languages, error) {
	offered := &Languages{byCode: map[string]*Language{}}
	for _, code := range codes {
		found, ok := l.byCode[code]
		if !ok {
			return nil, fmt.Errorf("%q is not a language of the pages; available: %s", code, l.codes())
		}
		offered.byCode[code] = found
	}
	if len(codes) == 0 {
		offered.byCode = l.byCode
	}
	for _, language := range l.list {
		if offered.byCode[language.Code] != nil {
			offered.list = append(offered.list, language)
		}
	}
	if offered.defaultLanguage = offered.byCode[defaultLanguage]; offered.defaultLanguage == nil {
		return nil, fmt.Errorf("%q is not one of the offered languages; available: %s", defaultLanguage, offered.codes())
	}
	return offered, nil
}

// codes returns the codes of the languages, separated by commas.
func (l *Languages) codes() string {
	text := ""
	for i, language := range l.list {
		if i > 0 {
			text += ", "
		}
		text += language.Code
	}
	return text
}
