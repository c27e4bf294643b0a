// Package static holds the style sheets, scripts and pictures of the pages. Each has a path that
// changes with its content.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
)

//go:generate go run ./generate .

// generated holds each asset plain and compressed. Command generate writes them.
//
//go:embed generated
var generated embed.FS

// contentTypes are fixed here, because the system's table differs between machines.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// Asset is a file that pages load. The content at a path never changes, so clients may cache it
// without limit.
type Asset struct {
	Path        string // "/static/pay.0f3a9b1c22d4.css"
	ContentType string
	Body        []byte
	Gzip        []byte // Body compressed with gzip
	Brotli      []byte // Body compressed with Brotli, which is smaller
}

// assets returns the assets. They are loaded on first use, because most commands serve no page.
var assets = sync.OnceValue(load)

// index holds the assets by their plain names and by their paths.
type index struct{ byName, byPath map[string]Asset }

// Path returns the path of the asset with a plain name such as "pay.css". It panics for an unknown
// name, which is a programming error.
func Path(name string) string { return named(name).Path }

// Find returns the asset at a path that Path returned.
func Find(path string) (Asset, bool) {
	asset, ok := assets().byPath[path]
	return asset, ok
}

// Extend returns an asset with text appended, under a path with its own hash. Find does not find it.
func Extend(name, end string) Asset {
	body := append(slices.Clone(named(name).Body), end...)
	asset := hashed(name, body)
	asset.Gzip, asset.Brotli = Gzip(body), Brotli(body, quick)
	return asset
}

// named returns the asset with a plain name. It panics for an unknown name.
func named(name string) Asset {
	asset, ok := assets().byName[name]
	if !ok {
		panic("static: no asset " + name)
	}
	return asset
}

// load reads the generated files.
func load() index {
	loaded := index{map[string]Asset{}, map[string]Asset{}}
	files, err := fs.Sub(generated, "generated")
	if err != nil {
		panic("static: " + err.Error())
	}
	paths, err := fs.Glob(files, "*.br")
	if err != nil {
		panic("static: " + err.Error())
	}
	for _, name := range paths {
		name = strings.TrimSuffix(name, ".br")
		asset := hashed(name, read(files, name))
		asset.Gzip, asset.Brotli = read(files, name+".gz"), read(files, name+".br")
		loaded.byName[name], loaded.byPath[asset.Path] = asset, asset
	}
	return loaded
}

func read(files fs.FS, name string) []byte {
	body, err := fs.ReadFile(files, name)
	if err != nil {
		panic("static: " + err.Error())
	}
	return body
}

// hashed returns an asset with its path and without compressed forms.
func hashed(name string, body []byte) Asset {
	extension := path.Ext(name)
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:6])
	return Asset{
		Path:        "/static/" + strings.TrimSuffix(name, extension) + "." + hash + extension,
		ContentType: contentTypes[extension],
		Body:        body,
	}
}

// Gzip returns a body compressed with the best compression of gzip.
func Gzip(body []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic("static: " + err.Error())
	}
	_, _ = w.Write(body) // writing to a bytes.Buffer cannot fail
	_ = w.Close()
	return b.Bytes()
}

// Qualities for Brotli. Smallest needs 36 MB of memory for each file.
const (
	Smallest = brotli.BestCompression
	quick    = 6
)

// windowBits is the base-2 logarithm of Brotli's window size. The window is larger than any asset.
const windowBits = 16

// Brotli returns a body compressed with Brotli at the given quality.
func Brotli(body []byte, quality int) []byte {
	var b bytes.Buffer
	w := brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: quality, LGWin: windowBits})
	_, _ = w.Write(body) // writing to a bytes.Buffer cannot fail
	_ = w.Close()
	return b.Bytes()
}
