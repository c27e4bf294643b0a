package locale

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/bojanz/currency"
	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
)

// regions maps languages to the regions whose conventions they follow, if the code alone would mean
// another region: English has the day before the month, and Portuguese is that of Portugal.
var regions = map[string]string{"en": "en-IE", "pt": "pt-PT"}

// Load reads catalogues: one file per language, named by its code. Each must contain the name of its
// language, and there must be an English one. It does not check that they are complete; the tests do.
func Load(files fs.FS) (*Languages, error) {
	loaded, err := open(files)
	if err != nil {
		return nil, err
	}
	for _, l := range loaded.list {
		if _, err := l.read(); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// open lists catalogues. The texts of a language are read on its first use.
func open(files fs.FS) (*Languages, error) {
	paths, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, fmt.Errorf("list catalogues: %w", err)
	}
	loaded := &Languages{byCode: map[string]*Language{}}
	for _, path := range paths {
		name, err := readName(files, path)
		if err != nil {
			return nil, fmt.Errorf("read catalogue %s: %w", path, err)
		}
		found := newLanguage(strings.TrimSuffix(path, ".json"), name, sync.OnceValues(func() (texts, error) { return readTexts(files, path) }))
		loaded.list, loaded.byCode[found.Code] = append(loaded.list, found), found
	}
	slices.SortFunc(loaded.list, func(a, b *Language) int { return strings.Compare(a.Code, b.Code) })
	if loaded.defaultLanguage = loaded.byCode["en"]; loaded.defaultLanguage == nil {
		return nil, fmt.Errorf("read catalogues: en.json is missing")
	}
	for _, l := range loaded.list {
		if l != loaded.defaultLanguage {
			l.fallback = loaded.defaultLanguage
		}
	}
	return loaded, nil
}

// readName reads the language's own name, which must be the first key of a catalogue.
func readName(files fs.FS, path string) (string, error) {
	file, err := files.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	for _, want := range []json.Token{json.Delim('{'), "language.name"} {
		if token, err := decoder.Token(); err != nil || token != want {
			return "", errors.Join(errors.New("first key is not language.name"), err)
		}
	}
	var name string
	if err := decoder.Decode(&name); err != nil || name == "" {
		return "", errors.Join(errors.New("language.name is not a name"), err)
	}
	return name, nil
}

// texts are the messages of one catalogue.
type texts struct {
	simple    map[string]message // those without plural forms
	localizer *i18n.Localizer
}

func readTexts(files fs.FS, path string) (texts, error) {
	code := strings.TrimSuffix(path, ".json")
	bundle := i18n.NewBundle(language.Make(code))
	file, err := bundle.LoadMessageFileFS(files, path)
	if err != nil {
		return texts{}, fmt.Errorf("read catalogue %s: %w", path, err)
	}
	found := texts{simple: map[string]message{}, localizer: i18n.NewLocalizer(bundle, code)}
	for _, m := range file.Messages {
		if hasPluralForms(m) {
			continue
		}
		if found.simple[m.ID], err = parseMessage(m.Other); err != nil {
			return texts{}, fmt.Errorf("read catalogue %s: message %s: %w", path, m.ID, err)
		}
	}
	return found, nil
}

// Language is a language of the pages. It is immutable and therefore safe for concurrent use.
type Language struct {
	Code string // "de"
	Tag  string // value of the html element's lang attribute: "en-IE"
	Name string // name in the language itself: "Deutsch"
	// RightToLeft is true if the language is written from right to left.
	RightToLeft bool

	read     func() (texts, error)
	fallback *Language // used for messages that the catalogue lacks; nil for English
	money    currency.Locale
	point    string // the decimal mark
}

func newLanguage(code, name string, read func() (texts, error)) *Language {
	l := &Language{Code: code, Tag: code, Name: name, read: read, point: "."}
	if region, ok := regions[code]; ok {
		l.Tag = region
	}
	l.money = currency.NewLocale(l.Tag)
	if code == "en" { // in Ireland's convention the US dollar would be "US$"
		l.money = currency.NewLocale(code)
	}
	script, _ := language.Make(code).Script()
	l.RightToLeft = slices.Contains([]string{"Arab", "Hebr", "Thaa", "Syrc"}, script.String())
	if strings.Contains(l.Fiat("1.50", "EUR"), ",") {
		l.point = ","
	}
	return l
}

// hasPluralForms reports whether a message has plural forms.
func hasPluralForms(m *i18n.Message) bool {
	return m.Zero != "" || m.One != "" || m.Two != "" || m.Few != "" || m.Many != ""
}

// Direction returns the value of the html element's dir attribute.
func (l *Language) Direction() string {
	if l.RightToLeft {
		return "rtl"
	}
	return "ltr"
}

// English reports whether the language is English, in which the service writes its messages.
func (l *Language) English() bool { return l.Code == "en" }

// Text returns a message. Pairs are the names and values of its placeholders: Text("paid.return",
// "Shop", name). It panics for an unknown id, which is a programming error.
func (l *Language) Text(id string, pairs ...string) string {
	if len(pairs) == 0 {
		return l.fill(id, nil)
	}
	return l.fill(id, l.templateValues(pairs))
}

// Count returns a message in the plural form for n. The placeholder Count is n.
func (l *Language) Count(id string, n int, pairs ...string) string {
	values := l.templateValues(pairs)
	values["Count"] = fmt.Sprint(n)
	return l.localize(&i18n.LocalizeConfig{MessageID: id, PluralCount: n, TemplateData: values})
}

// Around returns the parts of a message before and after the placeholder with the given name. The
// caller puts an element in between, such as a button or a time.
func (l *Language) Around(id, name string, pairs ...string) (before, after string) {
	const placeholder = "\x00"
	values := l.templateValues(pairs)
	values[name] = placeholder
	before, after, _ = strings.Cut(l.fill(id, values), placeholder)
	return strings.TrimSpace(before), strings.TrimSpace(after)
}

// templateValues returns pairs as template data. In a language written from right to left a value is isolated,
// otherwise "0.5 BTC" would read "BTC 0.5". A value of letters and spaces only needs no isolation. See
// Unicode Standard Annex #9, "Explicit Directional Isolates".
func (l *Language) templateValues(pairs []string) map[string]string {
	values := make(map[string]string, len(pairs)/2+1)
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
		if l.RightToLeft && strings.ContainsFunc(pairs[i+1], notWord) {
			values[pairs[i]] = "\u2068" + pairs[i+1] + "\u2069"
		}
	}
	return values
}

// notWord reports whether r is neither a letter nor a space.
func notWord(r rune) bool { return !unicode.IsLetter(r) && r != ' ' }

// texts returns the messages of the catalogue. It panics if they cannot be read: the catalogues are
// embedded, so that is a programming error.
func (l *Language) texts() texts {
	found, err := l.read()
	if err != nil {
		panic("locale: " + err.Error())
	}
	return found
}

// fill returns a message with the values of its placeholders.
func (l *Language) fill(id string, values map[string]string) string {
	if m, ok := l.texts().simple[id]; ok {
		return m.fill(values)
	}
	return l.localize(&i18n.LocalizeConfig{MessageID: id, TemplateData: values})
}

// localize returns a message that has plural forms, or that the catalogue lacks.
func (l *Language) localize(c *i18n.LocalizeConfig) string {
	c.TemplateParser = pluralParser{}
	text, err := l.texts().localizer.Localize(c)
	if err != nil && l.fallback != nil {
		return l.fallback.localize(c)
	}
	if err != nil {
		panic("locale: " + l.Code + ": " + err.Error())
	}
	return text
}
