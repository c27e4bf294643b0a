// Command generate joins the sources in a folder into the files that pages load, and writes these
// into the subfolder "generated", plain and compressed. The best compression takes much time and
// memory, so the program itself does not compress them.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	esbuild "github.com/evanw/esbuild/pkg/api"

	"chequer/static"
)

// bundles maps each asset to the sources that it is joined from, so that a page loads one style sheet
// and one script.
var bundles = map[string][]string{
	"pay.css":   {"base.css", "pay.css"},
	"store.css": {"base.css", "store.css"},
	"shop.css":  {"base.css", "store.css", "shop.css"},
	"pos.css":   {"base.css", "store.css", "shop.css", "pos.css"},
	"docs.css":  {"base.css", "store.css", "docs.css"},
	"pay.js":    {"pay.js"},
	"wallet.js": {"pay.js", "provider.js", "wallet.js"},

	"payframed.js":    {"pay.js", "frame.js"},
	"walletframed.js": {"pay.js", "provider.js", "wallet.js", "frame.js"},

	"icon.svg": {"icon.svg"},

	"counter.css": {"base.css", "pay.css", "counter.css"},
	"pos.js":      {"pos.js"},

	"embed.js":   {"dialog.js", "embed.js"},
	"modal.js":   {"dialog.js", "modal.js"},
	"frame.js":   {"frame.js"},
	"builder.js": {"builder.js"},

	"desk.css": {"base.css", "desk.css"},
	"desk.js":  {"desk.js"},
	"sweep.js": {"provider.js", "sweep.js"},
}

func main() {
	flag.Parse()
	if err := run(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run replaces the contents of the subfolder "generated" of a folder of sources.
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

// build returns the generated files by name: each asset, and its compressed forms with the suffixes
// ".gz" and ".br".
func build(sources fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, parts := range bundles {
		var joined []byte
		for _, part := range parts {
			source, err := fs.ReadFile(sources, part)
			if err != nil {
				return nil, err
			}
			joined = append(joined, source...)
		}
		body, err := minify(string(joined), path.Ext(name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name], files[name+".gz"], files[name+".br"] = body, static.Gzip(body), static.Brotli(body, static.Smallest)
	}
	return files, nil
}

// minify returns a style sheet or a script in its shortest form, and any other asset unchanged.
func minify(source, extension string) ([]byte, error) {
	loader, ok := map[string]esbuild.Loader{".css": esbuild.LoaderCSS, ".js": esbuild.LoaderJS}[extension]
	if !ok {
		return []byte(source), nil
	}
	result := esbuild.Transform(source, esbuild.TransformOptions{
		Loader: loader, MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, Charset: esbuild.CharsetUTF8,
	})
	for _, m := range append(result.Errors, result.Warnings...) {
		return nil, fmt.Errorf("line %d: %s", m.Location.Line, m.Text)
	}
	return bytes.TrimSpace(result.Code), nil
}
