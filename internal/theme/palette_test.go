package theme_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"chequer/internal/theme"
)

// surfaces are the surfaces in static/base.css that have text in the accent colour. The first three
// have bars and marks, too.
var surfaces = []string{"s0", "s1", "s2", "ok-s", "warn-s", "bad-s"}

var (
	variable   = regexp.MustCompile(`--([a-z0-9-]+):(#[0-9a-f]{3,6})`)
	darkScheme = "@media screen and (prefers-color-scheme:dark)"
)

// variables returns the colours of a style sheet's custom properties in both schemes.
func variables(t *testing.T, sheet string) (light, dark map[string]string) {
	t.Helper()
	before, after, found := strings.Cut(sheet, darkScheme)
	if !found {
		t.Fatal("the sheet has no dark scheme")
	}
	light, dark = map[string]string{}, map[string]string{}
	for _, m := range variable.FindAllStringSubmatch(before, -1) {
		light[m[1]] = m[2]
	}
	for _, m := range variable.FindAllStringSubmatch(after, -1) {
		dark[m[1]] = m[2]
	}
	return light, dark
}

// luminance is a second implementation of WCAG 2.2, "relative luminance", independent of the
// package's.
func luminance(t *testing.T, c string) float64 {
	t.Helper()
	if len(c) == 4 {
		c = "#" + c[1:2] + c[1:2] + c[2:3] + c[2:3] + c[3:] + c[3:]
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(c[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(n) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	l, m := luminance(t, a), luminance(t, b)
	return (max(l, m) + 0.05) / (min(l, m) + 0.05)
}

// accents returns difficult colours, and many random ones.
func accents() []string {
	list := []string{"#000000", "#ffffff", "#777777", "#767676", "#ffff00", "#ff0000", "#00ff00", "#0000ff", "#00ffff", "#ff00ff", "#12151c", "#e8573a", "#2b3fd6", "#fffffe", "#010101"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		list = append(list, fmt.Sprintf("#%06x", random.IntN(1<<24)))
	}
	return list
}

func TestStyle_has_enough_contrast_for_every_accent(t *testing.T) {
	t.Parallel()
	base, err := os.ReadFile("../../static/base.css")
	if err != nil {
		t.Fatal(err)
	}
	baseLight, baseDark := variables(t, string(base))
	for _, accent := range accents() {
		light, dark := variables(t, theme.Theme{Accent: accent}.Style())
		for scheme, v := range map[string][2]map[string]string{"light": {baseLight, light}, "dark": {baseDark, dark}} {
			ground, own := v[0], v[1]
			want := func(front, behind string, minContrast float64) {
				t.Helper()
				if got := contrast(t, front, behind); got < minContrast {
					t.Errorf("%s, %s: %s on %s has contrast %.3f, want at least %v", accent, scheme, front, behind, got, minContrast)
				}
			}
			for i, name := range surfaces {
				if ground[name] == "" {
					t.Fatalf("base.css has no --%s in the %s scheme", name, scheme)
				}
				want(own["accent-ink"], ground[name], 4.5)
				if i < 3 {
					want(own["accent-g"], ground[name], 3)
				}
			}
			want(own["accent-ink"], own["accent-s"], 4.5)
			want(own["on-accent"], own["accent"], 4.5)
			if own["on-accent"] == "#ffffff" { // the shade of a hovered button
				want("#ffffff", mixed(t, own["accent"], "#000000", 0.1), 4.5)
			} else {
				want(own["on-accent"], mixed(t, own["accent"], "#ffffff", 0.12), 4.5)
			}
		}
		if light["accent"] != accent {
			t.Errorf("%s fills buttons with %s in the light scheme", accent, light["accent"])
		}
		rim := strings.Count(theme.Theme{Accent: accent}.Style(), "--rim:var(--edge)")
		if want := contrast(t, accent, "#ffffff") < 3; (rim == 1) != want {
			t.Errorf("%s: %d rims with a contrast of %.2f", accent, rim, contrast(t, accent, "#ffffff"))
		}
	}
}

// mixed returns one colour with a share of another over it.
func mixed(t *testing.T, background, foreground string, part float64) string {
	t.Helper()
	result := "#"
	for i := range 3 {
		b, err := strconv.ParseUint(background[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		a, err := strconv.ParseUint(foreground[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		result += fmt.Sprintf("%02x", uint8(math.Round(float64(b)*(1-part)+float64(a)*part)))
	}
	return result
}

func TestPalettes_report_the_contrast_of_the_accent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		accent, scheme      string
		readable, keepsText bool
		contrast            string
	}{
		{"#2b3fd6", "light", true, true, "6.38"},
		{"#2b3fd6", "dark", false, false, "1.94"},
		{"#ffe600", "light", false, false, "1.07"},
		{"#ffe600", "dark", true, true, "11.52"},
		{"#000000", "dark", false, false, "1.11"},
	} {
		for _, p := range theme.Palettes(tt.accent) {
			if p.Scheme != tt.scheme {
				continue
			}
			own, text := p.Contrast()
			if p.Readable() != tt.readable || (p.Ink == tt.accent) != tt.keepsText || own != tt.contrast {
				t.Errorf("%s, %s: readable %v, text %s (%s), contrast %s", tt.accent, tt.scheme, p.Readable(), p.Ink, text, own)
			}
			if n, err := strconv.ParseFloat(text, 64); err != nil || n < 4.5 {
				t.Errorf("%s, %s: text has contrast %s, want at least 4.5", tt.accent, tt.scheme, text)
			}
		}
	}
}

func TestStyle_without_an_accent_is_empty(t *testing.T) {
	t.Parallel()
	if got := (theme.Theme{Name: "Nord", Line: "x"}).Style(); got != "" {
		t.Errorf("got %q", got)
	}
}
