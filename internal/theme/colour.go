package theme

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// colour is a colour in sRGB with 24 bits, so that contrasts are computed for the displayed colour.
type colour [3]uint8

var colourPattern = regexp.MustCompile(`^#([0-9a-f]{3}|[0-9a-f]{6})$`)

// normalizeColour returns a colour with six digits in lower case; "" for no colour.
func normalizeColour(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	c, err := parseColour(text)
	if err != nil {
		return "", err
	}
	return c.String(), nil
}

func parseColour(text string) (colour, error) {
	digits := strings.ToLower(text)
	if !colourPattern.MatchString(digits) {
		return colour{}, errors.New("must be a colour such as #2b3fd6")
	}
	digits = digits[1:]
	if len(digits) == 3 {
		digits = strings.Join([]string{digits[:1], digits[:1], digits[1:2], digits[1:2], digits[2:], digits[2:]}, "")
	}
	n, err := strconv.ParseUint(digits, 16, 24)
	return colour{uint8(n >> 16), uint8(n >> 8), uint8(n)}, err
}

// rgb returns the colour of a constant. It panics if the text is invalid, which is a programming
// error.
func rgb(text string) colour {
	c, err := parseColour(text)
	if err != nil {
		panic("theme: " + text + " " + err.Error())
	}
	return c
}

// String returns the colour as written in a style sheet.
func (c colour) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// linear returns the light intensity of a channel. See WCAG 2.2, "relative luminance".
func linear(channel uint8) float64 {
	v := float64(channel) / 255
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

// channel is the inverse of linear. inside is false if the value is outside sRGB.
func channel(light float64) (value uint8, inside bool) {
	v := light * 12.92
	if light > 0.0031308 {
		v = 1.055*math.Pow(light, 1/2.4) - 0.055
	}
	// The tolerance is less than a step of 1/255, so that errors of rounding are inside.
	inside = v >= -0.002 && v <= 1.002
	return uint8(math.Round(255 * min(max(v, 0), 1))), inside
}

// luminance returns the relative luminance, from 0 for black to 1 for white.
func (c colour) luminance() float64 {
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

// contrast returns the contrast ratio, from 1 to 21. See WCAG 2.2, "contrast ratio".
func contrast(a, b colour) float64 {
	l, m := a.luminance(), b.luminance()
	return (max(l, m) + 0.05) / (min(l, m) + 0.05)
}

// oklch is a colour by perceived lightness, chroma and hue. See CSS Color Module Level 4, "OKLab and
// OKLCH".
type oklch struct{ lightness, chroma, hue float64 }

// oklch returns the colour in OKLCH.
func (c colour) oklch() oklch {
	r, g, b := linear(c[0]), linear(c[1]), linear(c[2])
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	x := 1.9779984951*l - 2.4285922050*m + 0.4505937099*s
	y := 0.0259040371*l + 0.7827717662*m - 0.8086757660*s
	return oklch{
		lightness: 0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		chroma:    math.Hypot(x, y), hue: math.Atan2(y, x),
	}
}

// colour returns the nearest sRGB colour with the same lightness and hue, with less chroma if the
// colour is outside sRGB.
func (o oklch) colour() colour {
	if c, inside := o.clipped(); inside {
		return c
	}
	low, high := 0.0, o.chroma
	for range 24 {
		o.chroma = (low + high) / 2
		if _, inside := o.clipped(); inside {
			low = o.chroma
		} else {
			high = o.chroma
		}
	}
	o.chroma = low
	c, _ := o.clipped()
	return c
}

// clipped returns the colour with its channels clipped to sRGB. inside is true if no clipping was
// needed.
func (o oklch) clipped() (c colour, inside bool) {
	x, y := o.chroma*math.Cos(o.hue), o.chroma*math.Sin(o.hue)
	l := cube(o.lightness + 0.3963377774*x + 0.2158037573*y)
	m := cube(o.lightness - 0.1055613458*x - 0.0638541728*y)
	s := cube(o.lightness - 0.0894841775*x - 1.2914855480*y)
	inside = true
	for i, light := range []float64{
		4.0767416621*l - 3.3077115913*m + 0.2309699292*s,
		-1.2684380046*l + 2.6097574011*m - 0.3413193965*s,
		-0.0041960863*l - 0.7034186147*m + 1.7076147010*s,
	} {
		v, in := channel(light)
		c[i], inside = v, inside && in
	}
	return c, inside
}

func cube(x float64) float64 { return x * x * x }
