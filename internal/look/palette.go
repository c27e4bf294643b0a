package look

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Contrasts that are needed. See WCAG 2.2, 1.4.3 and 1.4.11.
const (
	textContrast    = 4.5
	graphicContrast = 3
)

// ground is what a scheme's colours stand on: those of static/base.css.
type ground struct {
	name string
	// surfaces carry text in the accent; the first is the page.
	surfaces []colour
	ink      colour
	tint     oklch // how light and, at most, how strong the accent's own surface is
	// step is how far a colour moves at once to be read better, and end where it is
	// read best.
	step float64
	end  colour
}

// grounds are the two schemes.
var grounds = []ground{
	{
		name: "light", ink: rgb("#12151c"), step: -0.005, end: rgb("#000000"), tint: oklch{light: 0.955, chroma: 0.03},
		surfaces: []colour{rgb("#ffffff"), rgb("#f5f6f8"), rgb("#eaecf1"), rgb("#e4f4ec"), rgb("#fff3db"), rgb("#fdecea")},
	},
	{
		name: "dark", ink: rgb("#0f1115"), step: 0.005, end: rgb("#ffffff"), tint: oklch{light: 0.28, chroma: 0.06},
		surfaces: []colour{rgb("#0f1115"), rgb("#16191f"), rgb("#20242c"), rgb("#12291f"), rgb("#2d2312"), rgb("#351a17")},
	},
}

// Palette is what a scheme's pages make of an accent.
type Palette struct {
	Scheme   string // light or dark
	Accent   string // fills
	OnAccent string // text on fills
	Graphic  string // bars and marks
	Ink      string // text and links
	Tint     string // a surface for them
	Edge     bool   // fills need a line around them to be seen

	own, text float64 // least contrast of the accent as it was chosen, and of Ink
}

// Palettes are those of an accent, as Tidy leaves it: light, then dark.
func Palettes(accent string) []Palette {
	list := make([]Palette, len(grounds))
	for i, g := range grounds {
		list[i] = g.palette(rgb(accent))
	}
	return list
}

// palette keeps the accent for fills in the light scheme, whatever it is; in the
// dark one, fills are as light as text.
func (g ground) palette(accent colour) Palette {
	tint := accent.oklch()
	tint.light, tint.chroma = g.tint.light, min(tint.chroma, g.tint.chroma)
	surface := tint.colour()
	all := append(slices.Clone(g.surfaces), surface)
	ink := g.until(accent, textContrast, all)
	fill := accent
	if g.step > 0 {
		fill = ink
	}
	return Palette{
		Scheme: g.name, Accent: fill.String(), OnAccent: g.on(fill).String(), Ink: ink.String(), Tint: surface.String(),
		Graphic: g.until(fill, graphicContrast, g.surfaces[:3]).String(),
		Edge:    contrast(fill, g.surfaces[0]) < graphicContrast,
		own:     least(accent, all), text: least(ink, all),
	}
}

// least is the least contrast that a colour has on any surface.
func least(c colour, surfaces []colour) float64 {
	ratio := contrast(c, surfaces[0])
	for _, s := range surfaces {
		ratio = min(ratio, contrast(c, s))
	}
	return ratio
}

// until moves a colour away from all surfaces, until each has enough contrast. Black
// and white have.
func (g ground) until(c colour, need float64, surfaces []colour) colour {
	for o := c.oklch(); least(c, surfaces) < need; c = o.colour() {
		if o.light += g.step; o.light < 0 || o.light > 1 {
			return g.end
		}
	}
	return c
}

// on is the colour of text on a fill: white or ink, whichever has more contrast, and
// black where that is not enough. Where white is not, black is.
func (g ground) on(fill colour) colour {
	best := rgb("#ffffff")
	if contrast(g.ink, fill) > contrast(best, fill) {
		best = g.ink
	}
	if contrast(best, fill) < textContrast {
		best = rgb("#000000")
	}
	return best
}

// Contrast is the least that the accent has where text stands, and that of the colour
// that text takes, cut to two digits.
func (p Palette) Contrast() (accent, text string) { return ratio(p.own), ratio(p.text) }

// Readable tells whether the accent itself can be text in the scheme.
func (p Palette) Readable() bool { return p.own >= textContrast }

func ratio(x float64) string { return strconv.FormatFloat(math.Floor(x*100)/100, 'f', 2, 64) }

// Style is what a style sheet ends with, so that a page takes the accent: nothing
// without one.
func (l Look) Style() string {
	if l.Accent == "" {
		return ""
	}
	light, dark := grounds[0].palette(rgb(l.Accent)), grounds[1].palette(rgb(l.Accent))
	return ":root{" + light.variables() + "}\n@media screen and (prefers-color-scheme:dark){:root{" + dark.variables() + "}}\n" +
		".btn:not(.alt,[aria-disabled]):hover{filter:none;box-shadow:inset 0 0 0 4rem var(--hover)}\n"
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
