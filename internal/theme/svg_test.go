package theme_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"chequer/internal/theme"
)

// picture returns an SVG with the given elements.
func picture(parts string) string {
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">` + parts + `</svg>`
}

func TestNewLogo_keeps_shapes_and_gradients_of_an_SVG(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, give, want string }{
		{"shapes", picture(`<rect width="32" height="32" fill="#15202e"/><circle cx="16" cy="17" r="7" fill="rgb(232, 87, 58)"/>`),
			picture(`<rect width="32" height="32" fill="#15202e"></rect><circle cx="16" cy="17" r="7" fill="rgb(232, 87, 58)"></circle>`)},
		{"a path over several lines", picture("<path fill-rule='evenodd' d='M5 17h22v9H5z\n\t m1.5e1-.5'/>"),
			picture(`<path fill-rule="evenodd" d="M5 17h22v9H5z m1.5e1-.5"></path>`)},
		{"a gradient", picture(`<defs><linearGradient id="a" x1="0" x2="100%" gradientTransform="rotate(45)"><stop offset="50%" stop-color="red"/></linearGradient></defs><g fill="url(#a)" transform="translate(1,2) scale(.5)"><path d="M0 0z"/></g>`),
			picture(`<defs><linearGradient id="a" x1="0" x2="100%" gradientTransform="rotate(45)"><stop offset="50%" stop-color="red"></stop></linearGradient></defs><g fill="url(#a)" transform="translate(1,2) scale(.5)"><path d="M0 0z"></path></g>`)},
		{"a gradient after another", picture(`<radialGradient id="b" xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="#a"/>`),
			picture(`<radialGradient id="b" href="#a"></radialGradient>`)},
		{"declaration, comments, titles and attributes without effect are removed", "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Nord --><svg version=\"1.1\" class=\"x\" xml:space=\"preserve\" xmlns=\"http://www.w3.org/2000/svg\" xmlns:i=\"urn:x\" viewBox=\"0,0 32 32\" width=\"64px\"><title id=\"t\">a &lt;b> c</title><desc>words</desc>\n<g/></svg>\n",
			picture("<g></g>")},
		{"width and height in place of a viewBox", `<svg xmlns="http://www.w3.org/2000/svg" width="24px" height="24"><g/></svg>`,
			`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><g></g></svg>`},
		{"a missing name space is added", `<svg viewBox="0 0 32 32"><g/></svg>`, picture("<g></g>")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := theme.NewLogo([]byte(tt.give))
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Body) != tt.want || got.Type != theme.TypeSVG {
				t.Errorf("got %s, a %s\nwant %s", got.Body, got.Type, tt.want)
			}
			second, err := theme.NewLogo(got.Body)
			if err != nil || !bytes.Equal(second.Body, got.Body) {
				t.Errorf("NewLogo of the result = %s, %v, want it unchanged", second.Body, err)
			}
		})
	}
}

func TestNewLogo_refuses_active_and_external_parts_of_an_SVG(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, give, want string }{
		{"script", picture(`<script>alert(1)</script>`), "the element <script>"},
		{"script by another prefix", picture(`<s:script xmlns:s="http://www.w3.org/2000/svg"/>`), "the element <s:script>"},
		{"script in capitals", picture(`<SCRIPT/>`), "the element <SCRIPT>"},
		{"HTML within", picture(`<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>`), "the element <foreignObject>"},
		{"HTML by a name space", picture(`<g xmlns="http://www.w3.org/1999/xhtml"/>`), "xmlns of <g>"},
		{"a prefix for another name space", picture(`<g xmlns:xlink="http://www.w3.org/1999/xhtml"/>`), "xmlns:xlink of <g>"},
		{"on load", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" onload="alert(1)"/>`, "onload of <svg>"},
		{"on click", picture(`<path onclick="x" d=""/>`), "onclick of <path>"},
		{"a link", picture(`<a href="javascript:alert(1)"><g/></a>`), "the element <a>"},
		{"a picture from another site", picture(`<image href="https://evil.example/x.png"/>`), "the element <image>"},
		{"an embedded picture", picture(`<image href="data:image/png;base64,AAAA"/>`), "the element <image>"},
		{"a part from another site", picture(`<use href="https://evil.example/x.svg#a"/>`), "the element <use>"},
		{"a part used again", picture(`<g id="a"/><use href="#a"/>`), "the element <use>"},
		{"a gradient from another site", picture(`<linearGradient href="https://evil.example/#a"/>`), "href of <linearGradient>"},
		{"a gradient by script", picture(`<linearGradient href="javascript:x"/>`), "href of <linearGradient>"},
		{"a fill from another site", picture(`<g fill="url(https://evil.example/#a)"/>`), "fill of <g>"},
		{"a fill with a fallback from another site", picture(`<g fill="url(#a) url(//evil.example)"/>`), "fill of <g>"},
		{"clips within clips", picture(`<clipPath id="a"><rect clip-path="url(#b)"/><rect clip-path="url(#b)"/></clipPath>`), "clip-path within <clipPath>"},
		{"a clip from another site", picture(`<g clip-path="url('//evil.example#a')"/>`), "clip-path of <g>"},
		{"a filter", picture(`<filter><feImage href="x"/></filter>`), "the element <filter>"},
		{"a style sheet", picture(`<style>@import url(//evil.example)</style>`), "the element <style>"},
		{"a style", picture(`<g style="background:url(//evil.example)"/>`), "style of <g>"},
		{"animation", picture(`<animate attributeName="href" to="javascript:x"/>`), "the element <animate>"},
		{"set", picture(`<set attributeName="onload" to="x"/>`), "the element <set>"},
		{"text, which needs a font", picture(`<text>Nord</text>`), "the element <text>"},
		{"text outside elements", picture(`hello`), "text outside its elements"},
		{"text in a CDATA section", picture(`<g><![CDATA[<script>]]></g>`), "text outside its elements"},
		{"an element within a title", picture(`<title><g/></title>`), "<g> within <title>"},
		{"a script within a title", picture(`<title><script/></title>`), "the element <script>"},
		{"a document type", `<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">` + picture(""), "<!DOCTYPE>"},
		{"an entity bomb", `<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>` + picture("&b;"), "<!DOCTYPE>"},
		{"a file by an entity", `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>` + picture("&a;"), "<!DOCTYPE>"},
		{"an unknown entity", picture(`<title>&a;</title>`), "not well-formed"},
		{"a style sheet by an instruction", `<?xml-stylesheet href="//evil.example"?>` + picture(""), "<?xml-stylesheet?>"},
		{"another encoding", `<?xml version="1.0" encoding="UTF-7"?>` + picture(""), "not well-formed"},
		{"deep nesting", picture(strings.Repeat("<g>", 1000) + strings.Repeat("</g>", 1000)), "more than 24 deep"},
		{"many elements", picture(strings.Repeat("<g/>", 1000)), "more than 400 elements"},
		{"many references", picture(strings.Repeat(`<g fill="url(#a)"/>`, 200)), "more than 100 times"},
		{"an attribute twice", picture(`<g fill="red" fill="url(#a)"/>`), "fill of <g> twice"},
		{"an invalid value", picture(`<rect width="1e9999999"/>`), `width of <rect> with the value`},
		{"a value that ends the attribute", picture(`<path d='M0 0">&lt;script>'/>`), "d of <path>"},
		{"a font", picture(`<g font-family="x"/>`), "font-family of <g>"},
		{"an editor's attribute", `<svg xmlns="http://www.w3.org/2000/svg" xmlns:inkscape="urn:x" viewBox="0 0 1 1" inkscape:version="1"/>`, "inkscape:version of <svg>"},
		{"another root", `<html><body>x</body></html>`, "the element <html>"},
		{"a picture within itself", picture(picture("")), "only one"},
		{"two pictures", picture("") + picture(""), "comes after its end"},
		{"no end", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1">`, "ends within an element"},
		{"a wrong end", `<svg viewBox="0 0 1 1"><g></svg></g>`, "ends nothing"},
		{"no picture at all", `<!-- -->`, "ends within an element"},
		{"no size", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "no viewBox"},
		{"an empty box", `<svg viewBox="0 0 0 0"/>`, "must be square"},
		{"a wide picture", `<svg viewBox="0 0 120 32"/>`, "is 120 × 32, and must be square"},
		{"more bytes than a page may have", picture(`<path d="` + strings.Repeat("M1.25 3.5", 1000) + `"/>`), "may have 8192"},
		{"a name with control characters", picture("<g \u202eevil=\"\"/>"), "not well-formed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := theme.NewLogo([]byte(tt.give))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "logo ") {
				t.Errorf("got %s, error %v, want %q", got.Body, err, tt.want)
			}
		})
	}
}

// For any input the result has only known elements, no scripts and no references to other documents.
func FuzzNewLogo_SVG(f *testing.F) {
	for _, parts := range []string{
		`<g fill="url(#a)"/>`, `<script/>`, `<path d="M0 0"/>`, `<radialGradient href="#a"/>`, `<title>x</title>`, `<g xmlns:xlink="http://www.w3.org/1999/xlink"/>`,
	} {
		f.Add(picture(parts))
	}
	known := " svg g defs path rect circle ellipse line polyline polygon clipPath linearGradient radialGradient stop "
	f.Fuzz(func(t *testing.T, text string) {
		l, err := theme.NewLogo([]byte("<" + text))
		if err != nil {
			return
		}
		if len(l.Body) > theme.MaxLogo {
			t.Errorf("%d bytes", len(l.Body))
		}
		d := xml.NewDecoder(bytes.NewReader(l.Body))
		for {
			token, err := d.Token()
			if err != nil {
				if err.Error() != "EOF" {
					t.Errorf("%s: %v", l.Body, err)
				}
				return
			}
			switch e := token.(type) {
			case xml.StartElement:
				if !strings.Contains(known, " "+e.Name.Local+" ") || e.Name.Space != "http://www.w3.org/2000/svg" {
					t.Errorf("%s has %v", l.Body, e.Name)
				}
				for _, a := range e.Attr {
					if reach := strings.ToLower(a.Name.Local + fmt.Sprint(a.Value)); strings.HasPrefix(reach, "on") || a.Name.Local == "style" ||
						a.Name.Local != "xmlns" && strings.Contains(reach, ":") || strings.Contains(reach, "url(") && !strings.Contains(reach, "url(#") {
						t.Errorf("%s has %v", l.Body, a)
					}
				}
			case xml.EndElement:
			default:
				t.Errorf("%s has %v", l.Body, token)
			}
		}
	})
}
