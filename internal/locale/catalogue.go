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

// regions say whose manners a language has where its code alone would mean others':
// English with the day before the month, Portuguese of Portugal.
var regions = map[string]string{"en": "en-IE", "pt": "pt-PT"}

// Load reads catalogues: one file per language, named by its code. Each must have
// a name for its language, and there must be an English one. Whether they are
// complete is for the tests.
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

// open lists catalogues. The texts of each are read at the first use of its language.
func open(files fs.FS) (*Languages, error) {
	paths, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, fmt.Errorf("list catalogues: %w", err)
	}
	loaded := &Languages{byCode: map[string]*Language{}}
	for _, path := range paths {
		name, err := nameIn(files, path)
		if err != nil {
			return nil, fmt.Errorf("read catalogue %s: %w", path, err)
		}
		one := newLanguage(strings.TrimSuffix(path, ".json"), name, sync.OnceValues(func() (texts, error) { return readTexts(files, path) }))
		loaded.list, loaded.byCode[one.Code] = append(loaded.list, one), one
	}
	slices.SortFunc(loaded.list, func(a, b *Language) int { return strings.Compare(a.Code, b.Code) })
	if loaded.standard = loaded.byCode["en"]; loaded.standard == nil {
		return nil, fmt.Errorf("read catalogues: en.json is missing")
	}
	for _, l := range loaded.list {
		if l != loaded.standard {
			l.fallback = loaded.standard
		}
	}
	return loaded, nil
}

// nameIn reads the language's own name from a catalogue, which begins with it.
func nameIn(files fs.FS, path string) (string, error) {
	file, err := files.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	for _, want := range []json.Token{json.Delim('{'), "language.name"} {
		if token, err := decoder.Token(); err != nil || token != want {
			return "", errors.Join(errors.New("it does not begin with language.name"), err)
		}
	}
	var name string
	if err := decoder.Decode(&name); err != nil || name == "" {
		return "", errors.Join(errors.New("language.name is no name"), err)
	}
	return name, nil
}

// texts are the messages of one catalogue.
type texts struct {
	fixed     map[string]string // without anything to fill in
	localizer *i18n.Localizer
}

func readTexts(files fs.FS, path string) (texts, error) {
	code := strings.TrimSuffix(path, ".json")
	bundle := i18n.NewBundle(language.Make(code))
	file, err := bundle.LoadMessageFileFS(files, path)
	if err != nil {
		return texts{}, fmt.Errorf("read catalogue %s: %w", path, err)
	}
	found := texts{fixed: map[string]string{}, localizer: i18n.NewLocalizer(bundle, code)}
	for _, m := range file.Messages {
		if !plural(m) && !strings.Contains(m.Other, "{{") {
			found.fixed[m.ID] = m.Other
		}
	}
	return found, nil
}

// Language is one that the pages speak. It does not change, so it is safe for
// concurrent use.
type Language struct {
	Code string // "de"
	Tag  string // for the html element: "en-IE"
	Name string // in itself: "Deutsch"
	// RightToLeft tells how its lines run.
	RightToLeft bool

	read     func() (texts, error)
	fallback *Language // says what the catalogue lacks; nil for English
	money    currency.Locale
	point    string // between a number and its decimals
}

func newLanguage(code, name string, read func() (texts, error)) *Language {
	l := &Language{Code: code, Tag: code, Name: name, read: read, point: "."}
	if region, ok := regions[code]; ok {
		l.Tag = region
	}
	l.money = currency.NewLocale(l.Tag)
	if code == "en" { // an Irish page would call the US dollar "US$"
		l.money = currency.NewLocale(code)
	}
	script, _ := language.Make(code).Script()
	l.RightToLeft = slices.Contains([]string{"Arab", "Hebr", "Thaa", "Syrc"}, script.String())
	if strings.Contains(l.Fiat("1.50", "EUR"), ",") {
		l.point = ","
	}
	return l
}

// plural tells whether a message differs by a number.
func plural(m *i18n.Message) bool {
	return m.Zero != "" || m.One != "" || m.Two != "" || m.Few != "" || m.Many != ""
}

// Direction is how lines run, as the html element says it.
func (l *Language) Direction() string {
	if l.RightToLeft {
		return "rtl"
	}
	return "ltr"
}

// English tells whether the language is the one that the service answers in.
func (l *Language) English() bool { return l.Code == "en" }

// Text is a text of the catalogue. Pairs are the names of what is filled in and
// their values: Text("paid.return", "Shop", name). An id that there is not is a bug
// of ours and panics.
func (l *Language) Text(id string, pairs ...string) string {
	if fixed, ok := l.texts().fixed[id]; ok {
		return fixed
	}
	return l.localize(&i18n.LocalizeConfig{MessageID: id, TemplateData: l.filled(pairs)})
}

// Count is a text in the form that a number takes in the language. The number
// itself is filled in as Count.
func (l *Language) Count(id string, n int, pairs ...string) string {
	values := l.filled(pairs)
	values["Count"] = fmt.Sprint(n)
	return l.localize(&i18n.LocalizeConfig{MessageID: id, PluralCount: n, TemplateData: values})
}

// Around is the two parts of a text before and after what is filled in as name,
// for what is no mere text: a button, a time.
func (l *Language) Around(id, name string, pairs ...string) (before, after string) {
	const here = "\x00"
	values := l.filled(pairs)
	values[name] = here
	before, after, _ = strings.Cut(l.localize(&i18n.LocalizeConfig{MessageID: id, TemplateData: values}), here)
	return strings.TrimSpace(before), strings.TrimSpace(after)
}

// filled are pairs as a template takes them. In a language that runs from right to
// left values are isolated, or else "0.5 BTC" would read "BTC 0.5"; mere words need
// not be. See Unicode Standard Annex #9, "Explicit Directional Isolates".
func (l *Language) filled(pairs []string) map[string]string {
	values := make(map[string]string, len(pairs)/2+1)
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
		if l.RightToLeft && strings.ContainsFunc(pairs[i+1], notWord) {
			values[pairs[i]] = "\u2068" + pairs[i+1] + "\u2069"
		}
	}
	return values
}

// notWord tells whether a letter has no direction of its own.
func notWord(r rune) bool { return !unicode.IsLetter(r) && r != ' ' }

// texts returns the messages of the catalogue. They are our own, so that they cannot be read
// is a bug of ours and panics.
func (l *Language) texts() texts {
	found, err := l.read()
	if err != nil {
		panic("locale: " + err.Error())
	}
	return found
}

func (l *Language) localize(c *i18n.LocalizeConfig) string {
	text, err := l.texts().localizer.Localize(c)
	if err != nil && l.fallback != nil {
		return l.fallback.localize(c)
	}
	if err != nil {
		panic("locale: " + l.Code + ": " + err.Error())
	}
	return text
}
