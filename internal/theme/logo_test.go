package theme_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"chequer/internal/theme"
)

// ring returns a square picture of a ring.
func ring(side int, background, foreground color.NRGBA) *image.NRGBA {
	p := image.NewNRGBA(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			c, r := background, (2*x-side)*(2*x-side)+(2*y-side)*(2*y-side)
			if r < side*side/2 && r > side*side/8 {
				c = foreground
			}
			p.SetNRGBA(x, y, c)
		}
	}
	return p
}

// noise returns a picture of random pixels, which hardly compresses.
func noise(side int, opaque bool) *image.NRGBA {
	random := rand.New(rand.NewPCG(1, 2))
	p := image.NewNRGBA(image.Rect(0, 0, side, side))
	for i := range p.Pix {
		p.Pix[i] = uint8(random.IntN(256))
		if opaque && i%4 == 3 {
			p.Pix[i] = 255
		}
	}
	return p
}

// encoded returns the file of a picture in a format.
func encoded(t *testing.T, kind string, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch kind {
	case "png":
		err = png.Encode(&b, p)
	case "jpeg":
		err = jpeg.Encode(&b, p, nil)
	case "gif":
		err = gif.Encode(&b, p, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var (
	transparent = color.NRGBA{}
	white       = color.NRGBA{R: 255, G: 255, B: 255, A: 255}
	red         = color.NRGBA{R: 232, G: 87, B: 58, A: 255}
)

// webp is a picture of one pixel, made by another encoder.
const webp = "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA="

func TestNewLogo_encodes_pictures_again(t *testing.T) {
	t.Parallel()
	pixel, err := base64.StdEncoding.DecodeString(webp)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		file []byte
		kind string
		side int
	}{
		{"PNG", encoded(t, "png", ring(512, white, red)), theme.TypePNG, 128},
		{"PNG with a transparent background", encoded(t, "png", ring(512, transparent, red)), theme.TypePNG, 128},
		{"JPEG", encoded(t, "jpeg", ring(300, white, red)), theme.TypeJPEG, 128},
		{"GIF", encoded(t, "gif", ring(200, white, red)), theme.TypeJPEG, 128},
		{"WebP", pixel, theme.TypePNG, 1},
		{"a small picture is not enlarged", encoded(t, "png", ring(40, white, red)), theme.TypePNG, 40},
		{"a photograph", encoded(t, "png", noise(256, true)), theme.TypeJPEG, 112},
		{"noise with transparency", encoded(t, "png", noise(500, false)), theme.TypePNG, 48},
		{"data after the picture is removed", append(encoded(t, "png", ring(64, white, red)), "<script>alert(1)</script>"...), theme.TypePNG, 64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := theme.NewLogo(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			if len(l.Body) > theme.MaxLogo || bytes.Contains(l.Body, []byte("<script")) {
				t.Errorf("got %d bytes %.100q, want at most %d without a script", len(l.Body), l.Body, theme.MaxLogo)
			}
			decoded, format, err := image.Decode(bytes.NewReader(l.Body))
			if err != nil {
				t.Fatal(err)
			}
			if l.Type != tt.kind || "image/"+format != tt.kind {
				t.Errorf("format %s, type %s, want %s", format, l.Type, tt.kind)
			}
			if decoded.Bounds() != image.Rect(0, 0, tt.side, tt.side) {
				t.Errorf("bounds %v, want %d", decoded.Bounds(), tt.side)
			}
		})
	}
}

func TestNewLogo_shows_the_same_picture(t *testing.T) {
	t.Parallel()
	l, err := theme.NewLogo(encoded(t, "png", ring(512, transparent, red)))
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := png.Decode(bytes.NewReader(l.Body))
	if err != nil {
		t.Fatal(err)
	}
	if got := color.NRGBAModel.Convert(decoded.At(64, 24)); got != red {
		t.Errorf("the ring is %v, want %v", got, red)
	}
	if _, _, _, alpha := decoded.At(0, 0).RGBA(); alpha != 0 {
		t.Error("a transparent pixel became opaque")
	}
}

// The tile behind a logo is white in both colour schemes.
func TestNewLogo_puts_white_shapes_on_a_dark_background(t *testing.T) {
	t.Parallel()
	l, err := theme.NewLogo(encoded(t, "png", ring(512, transparent, white)))
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := png.Decode(bytes.NewReader(l.Body))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := color.NRGBAModel.Convert(decoded.At(1, 1)), (color.NRGBA{R: 0x12, G: 0x15, B: 0x1c, A: 0xff}); got != want {
		t.Errorf("the background is %v, want %v", got, want)
	}
	if got := color.NRGBAModel.Convert(decoded.At(64, 24)); got != white {
		t.Errorf("the ring is %v, want %v", got, white)
	}
}

// pngHeader returns a PNG whose header states a size, without pixels. A decoder that allocates the
// stated size is open to a decompression bomb.
func pngHeader(width, height uint32) []byte {
	b := bytes.NewBufferString("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, data []byte) {
		binary.Write(b, binary.BigEndian, uint32(len(data)))
		body := append([]byte(kind), data...)
		b.Write(body)
		binary.Write(b, binary.BigEndian, crc32.ChecksumIEEE(body))
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	chunk("IHDR", append(head, 8, 6, 0, 0, 0))
	return b.Bytes()
}

func TestNewLogo_refuses_unsuitable_pictures(t *testing.T) {
	t.Parallel()
	wide := encoded(t, "png", image.NewNRGBA(image.Rect(0, 0, 400, 120)))
	scans := append(encoded(t, "jpeg", ring(64, white, red)), bytes.Repeat([]byte("\xff\xda"), 100)...)
	partial := &bytes.Buffer{}
	err := gif.EncodeAll(partial, &gif.GIF{
		Image: []*image.Paletted{image.NewPaletted(image.Rect(0, 0, 10, 2), color.Palette{white, red})}, Delay: []int{0},
		Config: image.Config{Width: 20, Height: 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, "is empty"},
		{"a text", []byte("hello"), "must be a PNG, JPEG, WebP, GIF or SVG picture"},
		{"a PDF", []byte("%PDF-1.7"), "must be a PNG, JPEG, WebP, GIF or SVG picture"},
		{"a program", []byte("\x7fELF"), "must be a PNG, JPEG, WebP, GIF or SVG picture"},
		{"a giant file", append(encoded(t, "png", ring(64, white, red)), make([]byte, theme.MaxLogoFile)...), "may have at most 1048576"},
		{"a decompression bomb", pngHeader(60_000, 60_000), "is 60000 × 60000 pixels, and may be at most 2048 × 2048"},
		{"one pixel more than allowed", pngHeader(2049, 2049), "is 2049 × 2049"},
		{"a long strip", pngHeader(1, 2_000_000_000), "may be at most 2048 × 2048"},
		{"a wide picture", wide, "is 400 × 120 pixels, and must be square"},
		{"half a picture", encoded(t, "png", noise(64, true))[:3000], "cannot be read"},
		{"only a header", pngHeader(64, 64), "cannot be read"},
		{"a JPEG of many scans", scans, "has more than 64 scans"},
		{"a GIF that begins with a part", partial.Bytes(), "begins with a picture of 10 × 2 pixels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := theme.NewLogo(tt.file)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "logo ") {
				t.Errorf("got %d bytes of %s, error %v, want %q", len(l.Body), l.Type, err, tt.want)
			}
		})
	}
}

// A logo that another service sent is checked like one that a merchant uploaded.
func TestParseLogo_checks_the_logo_of_a_service(t *testing.T) {
	t.Parallel()
	valid, err := theme.NewLogo(encoded(t, "png", ring(512, white, red)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := theme.ParseLogo(valid.Type, valid.Body); err != nil || !bytes.Equal(got.Body, valid.Body) {
		t.Errorf("a logo that NewLogo made is refused: %v", err)
	}
	for name, l := range map[string]theme.Logo{
		"HTML": {Type: "text/html", Body: []byte("<p>")}, "script in an SVG": {Type: theme.TypeSVG, Body: []byte(picture("<script/>"))},
		"HTML with the type of a PNG": {Type: theme.TypePNG, Body: []byte("<p>")}, "a picture above the maximum size": {Type: theme.TypePNG, Body: make([]byte, theme.MaxLogo+1)},
	} {
		if _, err := theme.ParseLogo(l.Type, l.Body); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A foreign service may send a picture whose type or size NewLogo does not make.
func TestParseLogo_refuses_other_types_and_sizes(t *testing.T) {
	t.Parallel()
	large := encoded(t, "png", ring(256, white, red))
	tests := map[string]struct {
		kind string
		body []byte
		want string
	}{
		"JPEG_as_PNG": {theme.TypePNG, encoded(t, "jpeg", ring(64, white, red)), "is of the type image/jpeg, not image/png"},
		"GIF_as_PNG":  {theme.TypePNG, encoded(t, "gif", ring(64, white, red)), "is of the type image/gif, not image/png"},
		"large_side":  {theme.TypePNG, large, "may be at most 128 × 128"},
		"no_picture":  {theme.TypePNG, []byte("text"), "cannot be read"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(tt.body) > theme.MaxLogo {
				t.Fatalf("the picture has %d bytes, want at most %d", len(tt.body), theme.MaxLogo)
			}
			if _, err := theme.ParseLogo(tt.kind, tt.body); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ParseLogo: %v, want an error with %q", err, tt.want)
			}
		})
	}
	if _, err := theme.ParseLogo(theme.TypePNG, encoded(t, "png", ring(64, white, red))); err != nil {
		t.Errorf("ParseLogo of a valid picture: %v", err)
	}
}
