package theme

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An SVG logo is never copied: known elements, and attributes whose values have a known form, are
// written again. Everything else is refused with an error that names it.
const (
	spaceSVG   = "http://www.w3.org/2000/svg"
	spaceXLink = "http://www.w3.org/1999/xlink"
	spaceXML   = "http://www.w3.org/XML/1998/namespace"

	maxDepth      = 24
	maxElements   = 400
	maxReferences = 100
)

// Forms of attribute values.
var (
	numberPattern    = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?(px|%)?$`)
	numbersPattern   = regexp.MustCompile(`^[\d+\-.,eE\s]*$`)
	pathPattern      = regexp.MustCompile(`^[MmZzLlHhVvCcSsQqTtAa\d+\-.,eE\s]*$`)
	transformPattern = regexp.MustCompile(`^(\s*,?\s*(matrix|translate|scale|rotate|skewX|skewY)\s*\([\d+\-.,eE\s]*\))*\s*$`)
	wordPattern      = regexp.MustCompile(`^[a-zA-Z-]{1,24}$`)
	idPattern        = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
	svgColourPattern = regexp.MustCompile(`^(#[0-9a-fA-F]{3,8}|[a-zA-Z]{1,24}|(rgb|rgba|hsl|hsla)\([\d.,%/\sa-z]{1,64}\))$`)
	paintPattern     = regexp.MustCompile(`^(#[0-9a-fA-F]{3,8}|[a-zA-Z]{1,24}|(rgb|rgba|hsl|hsla)\([\d.,%/\sa-z]{1,64}\)|url\(#[A-Za-z_][A-Za-z0-9_.-]{0,63}\))$`)
	referencePattern = regexp.MustCompile(`^(none|url\(#[A-Za-z_][A-Za-z0-9_.-]{0,63}\))$`)
	linkPattern      = regexp.MustCompile(`^#[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
)

// drawnAttributes are the attributes of all drawn elements.
var drawnAttributes = map[string]*regexp.Regexp{
	"id": idPattern, "transform": transformPattern, "fill": paintPattern, "stroke": paintPattern, "color": svgColourPattern, "opacity": numberPattern,
	"fill-opacity": numberPattern, "fill-rule": wordPattern, "stroke-width": numberPattern, "stroke-opacity": numberPattern,
	"stroke-linecap": wordPattern, "stroke-linejoin": wordPattern, "stroke-miterlimit": numberPattern, "stroke-dasharray": regexp.MustCompile(`^(none|[\d+\-.,eE\s]*)$`),
	"stroke-dashoffset": numberPattern, "clip-path": referencePattern, "clip-rule": wordPattern, "display": wordPattern, "visibility": wordPattern,
	"shape-rendering": wordPattern, "vector-effect": wordPattern, "paint-order": regexp.MustCompile(`^[a-z ]{1,32}$`),
}

// gradientAttributes are the attributes of both kinds of gradients.
var gradientAttributes = map[string]*regexp.Regexp{
	"id": idPattern, "gradientUnits": wordPattern, "gradientTransform": transformPattern, "spreadMethod": wordPattern, "href": linkPattern,
}

// elements are the elements that a logo may have, with the attributes of each.
var elements = map[string]map[string]*regexp.Regexp{
	"svg":      withNumbers(drawnAttributes, "x", "y", "width", "height"),
	"g":        drawnAttributes,
	"defs":     {"id": idPattern},
	"path":     withNumbers(drawnAttributes, "pathLength"),
	"rect":     withNumbers(drawnAttributes, "x", "y", "width", "height", "rx", "ry"),
	"circle":   withNumbers(drawnAttributes, "cx", "cy", "r"),
	"ellipse":  withNumbers(drawnAttributes, "cx", "cy", "rx", "ry"),
	"line":     withNumbers(drawnAttributes, "x1", "y1", "x2", "y2"),
	"polyline": drawnAttributes, "polygon": drawnAttributes,
	"clipPath":       {"id": idPattern, "clipPathUnits": wordPattern, "transform": transformPattern},
	"linearGradient": withNumbers(gradientAttributes, "x1", "y1", "x2", "y2"),
	"radialGradient": withNumbers(gradientAttributes, "cx", "cy", "r", "fx", "fy", "fr"),
	"stop":           {"id": idPattern, "offset": numberPattern, "stop-color": svgColourPattern, "stop-opacity": numberPattern},
	"title":          {"id": idPattern}, "desc": {"id": idPattern},
}

func init() {
	elements["svg"]["viewBox"], elements["svg"]["preserveAspectRatio"] = numbersPattern, regexp.MustCompile(`^[a-zA-Z ]{1,32}$`)
	elements["path"]["d"] = pathPattern
	elements["polyline"]["points"], elements["polygon"]["points"] = numbersPattern, numbersPattern
}

// withNumbers returns attributes and further ones whose values are numbers.
func withNumbers(attributes map[string]*regexp.Regexp, numbers ...string) map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for name, form := range attributes {
		all[name] = form
	}
	for _, name := range numbers {
		all[name] = numberPattern
	}
	return all
}

// ignored are attributes that have no effect in a stand-alone picture. They are removed.
var ignored = map[string]bool{"version": true, "class": true, "baseProfile": true, "role": true, "focusable": true, "enable-background": true}

// byteOrderMark is at the start of files from some editors.
var byteOrderMark = []byte("\xef\xbb\xbf")

// cleanSVG returns an SVG reduced to shapes and gradients.
func cleanSVG(file []byte) ([]byte, error) {
	c := cleaner{tokens: xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(file, byteOrderMark)))}
	if err := c.run(); err != nil {
		return nil, err
	}
	if c.out.Len() > MaxLogo {
		return nil, fmt.Errorf("has %d bytes when it is cleaned, and may have %d: simplify its paths", c.out.Len(), MaxLogo)
	}
	return c.out.Bytes(), nil
}

// cleaner reads an SVG and writes its known parts.
type cleaner struct {
	tokens     *xml.Decoder
	out        bytes.Buffer
	open       []string // elements that have not ended
	silent     int      // number of open title and desc elements, which are not displayed
	elements   int
	references int
	done       bool // the root element has ended
}

// run reads all tokens.
func (c *cleaner) run() error {
	for {
		token, err := c.tokens.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("is not well-formed: %w", err)
		}
		if err := c.process(token); err != nil {
			return err
		}
	}
	if !c.done || len(c.open) > 0 {
		return errors.New("is not well-formed: it ends within an element")
	}
	return nil
}

// process writes a token, or returns an error if it is not allowed.
func (c *cleaner) process(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return c.startElement(t)
	case xml.EndElement:
		return c.endElement(t)
	case xml.CharData:
		if c.silent == 0 && len(bytes.TrimSpace(t)) > 0 {
			return errors.New("has text outside its elements, which is not allowed in an SVG logo")
		}
	case xml.Directive:
		return fmt.Errorf("has <!%s>, which is not allowed in an SVG logo", word(strings.Fields(string(t) + " ?")[0]))
	case xml.ProcInst:
		if t.Target != "xml" {
			return fmt.Errorf("has <?%s?>, which is not allowed in an SVG logo", word(t.Target))
		}
	}
	return nil
}

// startElement writes the start of a known element. It refuses prefixes, because a prefix can give a name
// another meaning.
func (c *cleaner) startElement(t xml.StartElement) error {
	name := t.Name.Local
	attributes, known := elements[name]
	switch {
	case !known || t.Name.Space != "":
		return fmt.Errorf("has the element <%s>, which is not allowed in an SVG logo", word(prefixed(t.Name)))
	case c.done:
		return errors.New("is not well-formed: an element comes after its end")
	case (name == "svg") != (len(c.open) == 0):
		return errors.New("must be one <svg> element, and only one")
	case c.silent > 0:
		return fmt.Errorf("has the element <%s> within <%s>, which is not allowed in an SVG logo", name, c.open[len(c.open)-1])
	case len(c.open) >= maxDepth:
		return fmt.Errorf("has elements more than %d deep", maxDepth)
	case c.elements >= maxElements:
		return fmt.Errorf("has more than %d elements: simplify it", maxElements)
	}
	c.elements++
	c.open = append(c.open, name)
	if name == "title" || name == "desc" {
		c.silent++
	}
	attrs, err := c.attributes(name, attributes, t.Attr)
	if err != nil || c.silent > 0 {
		return err
	}
	if name == "svg" {
		return c.root(attrs)
	}
	c.write(name, attrs)
	return nil
}

// endElement writes the end of an element.
func (c *cleaner) endElement(t xml.EndElement) error {
	last := len(c.open) - 1
	if last < 0 || c.open[last] != t.Name.Local || t.Name.Space != "" {
		return fmt.Errorf("is not well-formed: </%s> ends nothing", word(prefixed(t.Name)))
	}
	name := c.open[last]
	c.open = c.open[:last]
	c.done = last == 0
	if c.silent > 0 {
		c.silent--
		return nil
	}
	fmt.Fprintf(&c.out, "</%s>", name)
	return nil
}

// attribute is an attribute to be written.
type attribute struct{ name, value string }

// attributes returns the known attributes of an element with valid values.
func (c *cleaner) attributes(element string, known map[string]*regexp.Regexp, attrs []xml.Attr) ([]attribute, error) {
	var kept []attribute
	seen := map[string]bool{}
	for _, a := range attrs {
		name, value := a.Name.Local, strings.Join(strings.Fields(a.Value), " ")
		if keep, err := belongs(a); err != nil {
			return nil, fmt.Errorf("has %s of <%s>, which is not allowed in an SVG logo", word(prefixed(a.Name)), element)
		} else if !keep {
			continue
		}
		form, ok := known[name]
		switch {
		case name == "style":
			return nil, fmt.Errorf("has style of <%s>, which is not allowed in an SVG logo: save it with presentation attributes", element)
		case !ok:
			return nil, fmt.Errorf("has %s of <%s>, which is not allowed in an SVG logo", word(name), element)
		case name == "clip-path" && slices.Contains(c.open, "clipPath"): // nesting multiplies the work of drawing
			return nil, errors.New("has clip-path within <clipPath>, which is not allowed in an SVG logo")
		case seen[name]:
			return nil, fmt.Errorf("has %s of <%s> twice", name, element)
		case !form.MatchString(value):
			return nil, fmt.Errorf("has %s of <%s> with the value %q, which is not understood", name, element, word(value))
		}
		seen[name] = true
		if form == linkPattern || strings.HasPrefix(value, "url(") {
			if c.references++; c.references > maxReferences {
				return nil, fmt.Errorf("refers to parts of itself more than %d times", maxReferences)
			}
		}
		kept = append(kept, attribute{name, value})
	}
	return kept, nil
}

// errSpace is the error for an attribute of an unknown name space.
var errSpace = errors.New("unknown name space")

// belongs reports whether an attribute is part of the picture. It accepts and skips name space
// declarations that repeat the standard meaning of their prefix.
func belongs(a xml.Attr) (bool, error) {
	switch {
	case a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns":
		want, known := map[string]string{"xmlns": spaceSVG, "svg": spaceSVG, "xlink": spaceXLink, "xml": spaceXML}[a.Name.Local]
		if known && a.Value != want {
			return false, errSpace
		}
		return false, nil
	case a.Name.Space == "xml" && (a.Name.Local == "space" || a.Name.Local == "lang"):
		return false, nil
	case a.Name.Space == "xlink" && a.Name.Local == "href":
		return true, nil
	case a.Name.Space != "":
		return false, errSpace
	}
	return !ignored[a.Name.Local], nil
}

// root writes the root element with a square viewBox and without a size, so that the page sets the
// size.
func (c *cleaner) root(attrs []attribute) error {
	kept, value := []attribute{{"xmlns", spaceSVG}}, map[string]string{}
	for _, a := range attrs {
		if value[a.name] = a.value; a.name != "width" && a.name != "height" && a.name != "x" && a.name != "y" && a.name != "viewBox" {
			kept = append(kept, a)
		}
	}
	box := value["viewBox"]
	if box == "" {
		box = "0 0 " + strings.TrimSuffix(value["width"], "px") + " " + strings.TrimSuffix(value["height"], "px")
	}
	sides := strings.FieldsFunc(box, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' || r == '\n' || r == '\r' })
	if len(sides) != 4 {
		return errors.New("has no viewBox of four numbers")
	}
	var numbers [4]float64
	for i, side := range sides {
		n, err := strconv.ParseFloat(side, 64) //nolint:forbidigo // a length in a drawing, not money
		if err != nil || n < -1e6 || n > 1e6 {
			return errors.New("has no viewBox of four numbers")
		}
		numbers[i] = n
	}
	if numbers[2] <= 0 || numbers[3] <= 0 || !square(numbers[2], numbers[3]) {
		return fmt.Errorf("is %s × %s, and must be square", sides[2], sides[3])
	}
	c.write("svg", append(kept, attribute{"viewBox", strings.Join(sides, " ")}))
	return nil
}

// write writes the start of an element. The forms of values exclude quotes and brackets; values are
// escaped nevertheless.
func (c *cleaner) write(name string, attrs []attribute) {
	fmt.Fprintf(&c.out, "<%s", name)
	for _, a := range attrs {
		fmt.Fprintf(&c.out, ` %s="`, a.name)
		_ = xml.EscapeText(&c.out, []byte(a.value)) // writing to a bytes.Buffer cannot fail
		c.out.WriteByte('"')
	}
	c.out.WriteByte('>')
}

func prefixed(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// word returns a part of a file for an error message: short and of printable ASCII characters.
func word(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '<' || r == '>' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, text)
	if len(text) > 40 {
		return text[:40] + "…"
	}
	return text
}
