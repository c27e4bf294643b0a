package manual

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Entry is one searchable section.
type Entry struct {
	Page  string // title of its page
	Title string // its heading
	URL   string
	Text  string // without markup
}

// Index finds sections by their words. It is safe for concurrent use.
type Index struct{ entries []indexed }

// indexed is an entry with its texts in lower case.
type indexed struct {
	Entry
	page, title, text string
}

// NewIndex returns an index of entries.
func NewIndex(entries []Entry) *Index {
	x := &Index{}
	for _, e := range entries {
		x.entries = append(x.entries, indexed{Entry: e, page: lower(e.Page), title: lower(e.Title), text: lower(e.Text)})
	}
	return x
}

// Hit is a section that a query found.
type Hit struct {
	Entry
	Excerpt []Span // of the text, around the first word found
}

// Span is a part of an excerpt.
type Span struct {
	Text    string
	IsMatch bool // it is a word of the query
}

// Bounds of a search. Longer queries are cut.
const (
	maxWords   = 8
	maxQuery   = 200 // bytes
	maxCounted = 5   // occurrences of a word in one text
	excerptLen = 180 // bytes
)

// Find returns at most limit sections that have every word of a query, the best matches first.
// A word matches at the beginning of a word of the text, in upper or lower case.
func (x *Index) Find(query string, limit int) []Hit {
	words := queryWords(query)
	if len(words) == 0 {
		return nil
	}
	type scored struct {
		indexed
		score int
	}
	var found []scored
	for _, e := range x.entries {
		if score := e.score(words); score > 0 {
			found = append(found, scored{e, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var hits []Hit
	for _, e := range found[:min(limit, len(found))] {
		hits = append(hits, Hit{Entry: e.Entry, Excerpt: e.excerpt(words)})
	}
	return hits
}

// queryWords returns the words of a query in lower case.
func queryWords(query string) []string {
	query = lower(strings.ToValidUTF8(query[:min(len(query), maxQuery)], ""))
	words := strings.FieldsFunc(query, func(r rune) bool { return !isWord(r) && r != '-' && r != '_' && r != '/' && r != '.' })
	words = slices.DeleteFunc(words, func(word string) bool { return strings.Trim(word, "-_/.") == "" })
	return words[:min(len(words), maxWords)]
}

// score returns the score of an entry, which is higher for a better match; 0 if a word is missing.
func (e indexed) score(words []string) int {
	total := 0
	for _, word := range words { // a title counts most, then the title of the page, then each occurrence in the text
		score := 20*min(1, len(matches(e.title, word))) + 10*min(1, len(matches(e.page, word))) + min(maxCounted, len(matches(e.text, word)))
		if score == 0 {
			return 0
		}
		total += score
	}
	return total
}

// excerpt returns the part of the text around the first word found, or its beginning.
func (e indexed) excerpt(words []string) []Span {
	first := len(e.text)
	for _, word := range words {
		if at := matches(e.text, word); len(at) > 0 {
			first = min(first, at[0])
		}
	}
	if first == len(e.text) {
		first = 0
	}
	// A third of the excerpt is before the first word found.
	from := wordStart(e.text, max(0, first-excerptLen/3))
	to := wordStart(e.text, min(len(e.text), from+excerptLen))
	var spans []Span
	add := func(text string, isMatch bool) {
		if text != "" {
			spans = append(spans, Span{Text: text, IsMatch: isMatch})
		}
	}
	if from > 0 {
		add("… ", false)
	}
	for at := from; at < to; {
		next, length := to, 0
		for _, word := range words {
			for _, m := range matches(e.text[:to], word) {
				if m >= at && (m < next || m == next && len(word) > length) {
					next, length = m, len(word)
				}
			}
		}
		add(e.Text[at:next], false)
		add(e.Text[next:next+length], true)
		at = next + length
	}
	if to < len(e.text) {
		add("…", false)
	}
	return spans
}

// matches returns the byte offsets of the words of a text that begin with a word.
func matches(text, word string) []int {
	var found []int
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return found
		}
		at += i
		if before, _ := utf8.DecodeLastRuneInString(text[:at]); !isWord(before) || !startsWord(word) {
			found = append(found, at)
		}
		at += len(word)
	}
}

// startsWord reports whether a query's word begins with a letter or digit.
func startsWord(word string) bool { return isWord([]rune(word)[0]) }

// wordStart returns the offset of the first word that begins after a space, at the given offset or later.
func wordStart(text string, at int) int {
	if at == 0 || at == len(text) {
		return at
	}
	if i := strings.IndexByte(text[at-1:], ' '); i >= 0 {
		return at + i
	}
	return len(text)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// lower returns a text with only A to Z in lower case, so that every byte keeps its offset.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}
