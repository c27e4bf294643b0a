package theme

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Minimum contrast ratios. See WCAG 2.2, 1.4.3 (text) and 1.4.11 (graphics).
const (
	textContrast    = 4.5
	graphicContrast = 3
)

// scheme is a colour scheme of static/base.css.
type scheme struct {
	name string
	// surfaces are the backgrounds of text in the accent colour; the first is the page's. The first three are neutral,
	// the others have the colour of a status.
	surfaces []colour
	darkText colour // dark colour of text on fills
	tint     oklch  // lightness and maximum chroma of the accent's own surface
	// step is the change of lightness that increases contrast, and end is the colour with the most
	// contrast.
	step float64
	end  colour
}

// schemes are the light and the dark scheme.
var schemes = []scheme{
	{
		name: "light", darkText: rgb("#12151c"), step: -0.005, end: rgb("#000000"), tint: oklch{lightness: 0.955, chroma: 0.03},
		surfaces: []colour{rgb("#ffffff"), rgb("#f5f6f8"), rgb("#eaecf1"), rgb("#e4f4ec"), rgb("#fff3db"), rgb("#fdecea")},
	},
	{
		name: "dark", darkText: rgb("#0f1115"), step: 0.005, end: rgb("#ffffff"), tint: oklch{lightness: 0.28, chroma: 0.06},
		surfaces: []colour{rgb("#0f1115"), rgb("#16191f"), rgb("#20242c"), rgb("#12291f"), rgb("#2d2312"), rgb("#351a17")},
	},
}

// Palette is the set of colours that are derived from an accent for one scheme.
type Palette struct {
	Scheme   string // light or dark
	Accent   string // colour of fills
	OnAccent string // colour of text on fills
	Graphic  string // colour of bars and marks
	Ink      string // colour of text and links
	Tint     string // surface for text and links
	Edge     bool   // fills need an outline to be visible

	own, text float64 // minimum contrast of the chosen accent, and of Ink
}

// Palettes returns the palettes of an accent in Normalize's form: light, then dark.
func Palettes(accent string) []Palette {
	list := make([]Palette, len(schemes))
	for i, s := range schemes {
		list[i] = s.palette(rgb(accent))
	}
	return list
}

// palette returns the palette of an accent. In the light scheme, fills have the accent unchanged. In
// the dark scheme, they have the colour of text.
func (s scheme) palette(accent colour) Palette {
	tint := accent.oklch()
	tint.lightness, tint.chroma = s.tint.lightness, min(tint.chroma, s.tint.chroma)
	surface := tint.colour()
	colours := append(slices.Clone(s.surfaces), surface)
	ink := s.adjust(accent, textContrast, colours)
	fill := accent
	if s.name == "dark" {
		fill = ink
	}
	return Palette{
		Scheme: s.name, Accent: fill.String(), OnAccent: s.textOn(fill).String(), Ink: ink.String(), Tint: surface.String(),
		Graphic: s.adjust(fill, graphicContrast, s.surfaces[:3]).String(),
		Edge:    contrast(fill, s.surfaces[0]) < graphicContrast,
		own:     minContrast(accent, colours), text: minContrast(ink, colours),
	}
}

// minContrast returns the smallest contrast of a colour with any of the surfaces.
func minContrast(c colour, surfaces []colour) float64 {
	ratio := contrast(c, surfaces[0])
	for _, s := range surfaces {
		ratio = min(ratio, contrast(c, s))
	}
	return ratio
}

// adjust changes the lightness of a colour until it has the needed contrast with every surface. The
// scheme's end colour, black or white, always has it.
func (s scheme) adjust(c colour, required float64, surfaces []colour) colour {
	for o := c.oklch(); minContrast(c, surfaces) < required; c = o.colour() {
		if o.lightness += s.step; o.lightness < 0 || o.lightness > 1 {
			return s.end
		}
	}
	return c
}

// textOn returns the colour of text on a fill: white or the scheme's darkText, whichever has more
// contrast, or black if neither has enough. If white has too little contrast, black has enough.
func (s scheme) textOn(fill colour) colour {
	best := rgb("#ffffff")
	if contrast(s.darkText, fill) > contrast(best, fill) {
		best = s.darkText
	}
	if contrast(best, fill) < textContrast {
		best = rgb("#000000")
	}
	return best
}

// Contrast returns the minimum contrasts of the chosen accent and of Ink with the surfaces, truncated to two
// decimals.
func (p Palette) Contrast() (accent, text string) { return ratio(p.own), ratio(p.text) }

// Readable reports whether the chosen accent has enough contrast for text in the scheme.
func (p Palette) Readable() bool { return p.own >= textContrast }

func ratio(x float64) string { return strconv.FormatFloat(math.Floor(x*100)/100, 'f', 2, 64) }

// Style returns the rules that are appended to a style sheet to apply the accent; empty without an
// accent.
func (t Theme) Style() string {
	if t.Accent == "" {
		return ""
	}
	return t.Variables(":root") + ".btn:not(.alt,[aria-disabled]):hover{filter:none;box-shadow:inset 0 0 0 4rem var(--hover)}\n"
}

// Variables returns the rules that set the colours of the elements that a selector matches; empty without an
// accent.
func (t Theme) Variables(selector string) string {
	if t.Accent == "" {
		return ""
	}
	light, dark := schemes[0].palette(rgb(t.Accent)), schemes[1].palette(rgb(t.Accent))
	return selector + "{" + light.variables() + "}\n@media screen and (prefers-color-scheme:dark){" + selector + "{" + dark.variables() + "}}\n"
}

func (p Palette) variables() string {
	edge, hover := "transparent", "rgb(255 255 255/.12)"
	if p.Edge {
		edge = "var(--edge)"
	}
	if p.OnAccent == "#ffffff" {
		hover = "rgb(0 0 0/.1)"
	}
	return fmt.Sprintf("--accent:%s;--on-accent:%s;--accent-g:%s;--accent-ink:%s;--accent-s:%s;--rim:%s;--hover:%s",
		p.Accent, p.OnAccent, p.Graphic, p.Ink, p.Tint, edge, hover)
}
