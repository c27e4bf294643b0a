package manual

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Document is a page as HTML.
type Document struct {
	Page
	HTML     string    // the text of the page, with its heading
	Sections []Section // the first section is the text before the second heading
}

// Section is the part of a page below one heading.
type Section struct {
	ID    string // of the heading; fragment of the section's address
	Title string
	Level int    // 1 is the page itself
	Text  string // without markup
}

// apiReferenceFile is the destination of the links to the API reference in the Markdown pages.
const apiReferenceFile = "../api/openapi.yaml"

// Render returns a page as HTML. The function address returns the address of the page with a
// slug, and that of the API reference for the slug APIReference. Links to other files of the
// repository become plain text.
func Render(p Page, address func(slug string) string) (Document, error) {
	source := p.source()
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&htmlRenderer{}, 100))),
	)
	root := md.Parser().Parse(text.NewReader(source))
	if err := relink(root, address); err != nil {
		return Document{}, fmt.Errorf("render %s: %w", p.Slug, err)
	}
	labelCells(root, source)
	var out bytes.Buffer
	if err := md.Renderer().Render(&out, source, root); err != nil {
		return Document{}, fmt.Errorf("render %s: %w", p.Slug, err)
	}
	return Document{Page: p, HTML: out.String(), Sections: sections(root, source)}, nil
}

// relink replaces the destinations of links, which name files, by addresses.
func relink(root ast.Node, address func(slug string) string) error {
	var links []*ast.Link
	for n := range nodes(root) {
		if link, ok := n.(*ast.Link); ok {
			links = append(links, link)
		}
	}
	for _, link := range links {
		file, fragment, hasFragment := strings.Cut(string(link.Destination), "#")
		slug, isPage := strings.CutSuffix(file, ".md")
		switch _, known := Find(slug); {
		case file == apiReferenceFile:
			link.Destination = []byte(address(APIReference))
		case file == "":
			// a section of the same page
		case strings.HasPrefix(file, "../"):
			unwrap(link)
		case !isPage || !known:
			return fmt.Errorf("a link leads to %q, which is not a page", link.Destination)
		default:
			link.Destination = []byte(address(slug))
			if hasFragment {
				link.Destination = append(link.Destination, "#"+fragment...)
			}
		}
	}
	return nil
}

// unwrap replaces a node by its children.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for child := n.FirstChild(); child != nil; child = n.FirstChild() {
		parent.InsertBefore(parent, n, child)
	}
	parent.RemoveChild(parent, n)
}

// labelCells labels the cells of tables with more than two columns with the heading of their column,
// for narrow screens, which show the cells of a row below each other.
func labelCells(root ast.Node, source []byte) {
	for n := range nodes(root) {
		table, ok := n.(*extast.Table)
		if !ok {
			continue
		}
		var headings []string
		for cell := table.FirstChild().FirstChild(); cell != nil; cell = cell.NextSibling() {
			headings = append(headings, plain(cell, source))
		}
		for row := table.FirstChild().NextSibling(); row != nil; row = row.NextSibling() {
			i := 0
			for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
				if i > 0 && len(headings) > 2 {
					cell.SetAttributeString("data-label", []byte(headings[i]))
				}
				i++
			}
		}
	}
}

// sections returns the sections of a page in their order.
func sections(root ast.Node, source []byte) []Section {
	var found []Section
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if heading, ok := n.(*ast.Heading); ok {
			found = append(found, Section{ID: headingID(heading), Title: plain(n, source), Level: heading.Level})
		} else if len(found) > 0 {
			last := &found[len(found)-1]
			last.Text = strings.TrimSpace(last.Text + " " + plain(n, source))
		}
	}
	return found
}

// headingID returns the identifier that the parser gave a heading.
func headingID(n *ast.Heading) string {
	id, _ := n.AttributeString("id")
	name, _ := id.([]byte)
	return string(name)
}

// plain returns the text of a node without markup, its words separated by single spaces.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	for n := range nodes(n) {
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.FencedCodeBlock:
			b.Write(n.Lines().Value(source))
		default:
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// nodes yields a node and everything below it, in the order of the text.
func nodes(root ast.Node) func(yield func(ast.Node) bool) {
	return func(yield func(ast.Node) bool) {
		_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if entering && !yield(n) {
				return ast.WalkStop, nil
			}
			return ast.WalkContinue, nil
		})
	}
}

// htmlRenderer writes the elements that differ from goldmark's own HTML: headings with a link
// to themselves, and code that can be scrolled by keyboard.
type htmlRenderer struct{ examples int }

// RegisterFuncs implements renderer.NodeRenderer.
func (r *htmlRenderer) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindHeading, r.heading)
	register.Register(ast.KindFencedCodeBlock, r.code)
	register.Register(ast.KindHTMLBlock, r.comment)
}

func (r *htmlRenderer) heading(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	heading := n.(*ast.Heading)
	id := html.EscapeString(headingID(heading))
	switch {
	case entering:
		fmt.Fprintf(w, `<h%d id="%s">`, heading.Level, id)
	case heading.Level == 1:
		fmt.Fprint(w, "</h1>\n")
	default:
		fmt.Fprintf(w, ` <a class="self" href="#%s" aria-label="Link to “%s”">#</a></h%d>`+"\n", id, html.EscapeString(plain(n, source)), heading.Level)
	}
	return ast.WalkContinue, nil
}

func (r *htmlRenderer) code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		r.examples++
		fmt.Fprintf(w, `<pre class="sample" tabindex="0" role="region" aria-label="Example %d"><code>%s</code></pre>`+"\n",
			r.examples, html.EscapeString(string(n.Lines().Value(source))))
	}
	return ast.WalkSkipChildren, nil
}

// comment omits HTML. The pages contain no HTML except comments.
func (r *htmlRenderer) comment(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}
