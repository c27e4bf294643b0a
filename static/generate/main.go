// Command generate joins the sources in a folder into the files that pages load,
// and writes these into its folder "generated", plain and compressed. Compressing as far as
// possible takes a lot of time and memory, which the program itself must not spend.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"chequer/static"
)

// bundles names each asset and the sources that it is joined from, so that a page
// loads one style sheet and one script.
var bundles = map[string][]string{
	"pay.css":   {"base.css", "pay.css"},
	"store.css": {"base.css", "store.css"},
	"shop.css":  {"base.css", "store.css", "shop.css"},
	"pos.css":   {"base.css", "store.css", "shop.css", "pos.css"},
	"docs.css":  {"base.css", "store.css", "docs.css"},
	"pay.js":    {"pay.js"},
	"wallet.js": {"pay.js", "wallet.js"},

	"payframed.js":    {"pay.js", "frame.js"},
	"walletframed.js": {"pay.js", "wallet.js", "frame.js"},

	"icon.svg": {"icon.svg"},

	"counter.css": {"base.css", "pay.css", "counter.css"},
	"pos.js":      {"pos.js"},

	"embed.js":   {"embed.js"},
	"frame.js":   {"frame.js"},
	"builder.js": {"builder.js"},
}

func main() {
	flag.Parse()
	if err := run(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run replaces what is in the folder "generated" of a folder of sources.
func run(folder string) error {
	files, err := build(os.DirFS(folder))
	if err != nil {
		return err
	}
	target := filepath.Join(folder, "generated")
	if err := errors.Join(os.RemoveAll(target), os.Mkdir(target, 0o755)); err != nil {
		return err
	}
	for name, body := range files {
		if err := os.WriteFile(filepath.Join(target, name), body, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// build returns the generated files by their names: each asset, and the same with the endings
// ".gz" and ".br".
func build(sources fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, parts := range bundles {
		var body []byte
		for _, part := range parts {
			source, err := fs.ReadFile(sources, part)
			if err != nil {
				return nil, err
			}
			body = append(body, lean(string(source), path.Ext(part))...)
		}
		files[name], files[name+".gz"], files[name+".br"] = body, static.Gzip(body), static.Brotli(body, static.Smallest)
	}
	return files, nil
}

// lean returns a source without what browsers do not need.
func lean(source, extension string) string {
	switch extension {
	case ".css":
		return strings.ReplaceAll(strings.ReplaceAll(cssComment.ReplaceAllString(source, ""), "\n", ""), ";}", "}")
	case ".js":
		return leanScript(source)
	}
	return source
}

var (
	cssComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	// jsToken matches a string, a template, a regular expression, space and comments, a word, or
	// one other character of a script. Our scripts write a regular expression only after "(".
	jsToken = regexp.MustCompile("(?s)\"(?:\\\\.|[^\"\\\\])*\"|`(?:\\\\.|[^`\\\\])*`|\\(/(?:\\\\.|[^/\\\\\n])+/|(?:\\s|//[^\n]*)+|[\\w$]+|.")
)

// leanScript returns a script without comments and without space that separates nothing. Line
// breaks that may end a statement stay.
func leanScript(source string) string {
	tokens := jsToken.FindAllString(source, -1)
	var b strings.Builder
	last := byte('{')
	for i, token := range tokens {
		if strings.HasPrefix(token, "//") || strings.TrimSpace(token[:1]) == "" {
			var next byte = '}'
			if i+1 < len(tokens) {
				next = tokens[i+1][0]
			}
			token = separator(last, next, strings.Contains(token, "\n"))
		}
		if b.WriteString(token); token != "" {
			last = token[len(token)-1]
		}
	}
	return b.String()
}

// separator returns the space that two characters of a script need between them.
func separator(last, next byte, lineBreak bool) string {
	switch {
	case lineBreak && (strings.IndexByte("{;,(\n", last) >= 0 || next == '}'):
		return ""
	case lineBreak:
		return "\n"
	case isWord(last) && isWord(next), last == next && (last == '+' || last == '-'):
		return " "
	}
	return ""
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
