// Package static holds the style sheets, scripts and pictures of the pages,
// each under a name that changes with its content.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
)

//go:embed *.css *.js *.svg
var sources embed.FS

// bundles are the assets and the files they are joined from, so that a page
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

// contentTypes are fixed here: those of the system differ between machines.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// Asset is a file as it is sent. Its content never changes under its path, so
// it may be cached for ever.
type Asset struct {
	Path        string // "/static/pay.0f3a9b1c22d4.css"
	ContentType string
	Body        []byte
	Gzip        []byte // the same, compressed
	Brotli      []byte // the same, compressed further
}

var byName, byPath = load()

// Path is where an asset is found, by its plain name: "pay.css". An unknown
// name is a bug of ours and panics.
func Path(name string) string {
	asset, ok := byName[name]
	if !ok {
		panic("static: no asset " + name)
	}
	return asset.Path
}

// Find is the asset at a path that Path gave.
func Find(path string) (Asset, bool) {
	asset, ok := byPath[path]
	return asset, ok
}

func load() (names, paths map[string]Asset) {
	names, paths = map[string]Asset{}, map[string]Asset{}
	for name, files := range bundles {
		asset := newAsset(name, files)
		names[name], paths[asset.Path] = asset, asset
	}
	return names, paths
}

// Extend is an asset with something after it, under a hash of its own. Find does not
// know it.
func Extend(name, end string) Asset {
	asset, ok := byName[name]
	if !ok {
		panic("static: no asset " + name)
	}
	return hashed(name, append(slices.Clone(asset.Body), end...))
}

func newAsset(name string, files []string) Asset {
	var body []byte
	for _, file := range files {
		part, err := sources.ReadFile(file)
		if err != nil {
			panic("static: " + err.Error())
		}
		body = append(body, lean(part, path.Ext(file))...)
	}
	return hashed(name, body)
}

// hashed is an asset of a name and a content.
func hashed(name string, body []byte) Asset {
	extension := path.Ext(name)
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:6])
	return Asset{
		Path:        "/static/" + strings.TrimSuffix(name, extension) + "." + hash + extension,
		ContentType: contentTypes[extension],
		Body:        body,
		Gzip:        compress(body, gzipWriter),
		Brotli:      compress(body, brotliWriter),
	}
}

// idle is what only readers of a source need: its comments, and the indentation of
// a script.
var idle = map[string]*regexp.Regexp{
	".css": regexp.MustCompile(`(?s)/\*.*?\*/\n?`),
	".js":  regexp.MustCompile(`(?m)^[ \t]*//.*\n|^[ \t]+`),
}

// lean is a source without what browsers have no use for.
func lean(source []byte, extension string) []byte {
	if words, ok := idle[extension]; ok {
		return words.ReplaceAll(source, nil)
	}
	return source
}

func compress(body []byte, to func(io.Writer) io.WriteCloser) []byte {
	var b bytes.Buffer
	w := to(&b)
	w.Write(body) // a bytes.Buffer never fails
	w.Close()
	return b.Bytes()
}

func gzipWriter(to io.Writer) io.WriteCloser {
	w, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		panic("static: " + err.Error())
	}
	return w
}

func brotliWriter(to io.Writer) io.WriteCloser {
	return brotli.NewWriterLevel(to, brotli.BestCompression)
}
