package locale

import (
	"fmt"
	"strings"

	"github.com/nicksnyder/go-i18n/v2/i18n/template"
)

// message is a text with placeholders, such as {{.Amount}}. The value of names[i] is between texts[i] and
// texts[i+1]. A payment page has about fifty messages, for which text/template takes
// several times as long.
type message struct {
	texts []string
	names []string
}

// parseMessage parses a message. It returns an error if the message has a template action other than a
// placeholder.
func parseMessage(text string) (message, error) {
	var m message
	const left, right = "{{", "}}"
	for {
		before, rest, found := strings.Cut(text, left)
		m.texts = append(m.texts, before)
		if !found {
			return m, nil
		}
		action, after, closed := strings.Cut(rest, right)
		name, dotted := strings.CutPrefix(action, ".")
		if !closed || !dotted || name == "" || strings.ContainsFunc(name, notLetter) {
			return message{}, fmt.Errorf("%q is not a placeholder, such as {{.Amount}}", left+action+right)
		}
		m.names, text = append(m.names, name), after
	}
}

func notLetter(r rune) bool { return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') }

// fill returns the text with the given values. A missing value is an empty text.
func (m message) fill(values map[string]string) string {
	if len(m.names) == 0 {
		return m.texts[0]
	}
	var b strings.Builder
	b.WriteString(m.texts[0])
	for n, name := range m.names {
		b.WriteString(values[name])
		b.WriteString(m.texts[n+1])
	}
	return b.String()
}

// Execute implements template.ParsedTemplate. The data are the values.
func (m message) Execute(data any) (string, error) {
	values, ok := data.(map[string]string)
	if !ok {
		return "", fmt.Errorf("values of a message are %T, not a map of texts", data)
	}
	return m.fill(values), nil
}

// pluralParser parses the plural forms of messages for package i18n.
type pluralParser struct{}

// Parse parses a form. The delimiters are always the default ones.
func (pluralParser) Parse(text, _, _ string) (template.ParsedTemplate, error) {
	m, err := parseMessage(text)
	return m, err
}

// Cacheable returns true: a parsed form does not depend on values.
func (pluralParser) Cacheable() bool { return true }
