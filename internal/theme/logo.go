package theme

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // an accepted format
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // an accepted format
)

const (
	// MaxLogo is the maximum size of a logo as it is served, in bytes.
	MaxLogo = 8 << 10
	// MaxLogoFile is the maximum size of the file that a logo is made from, in bytes.
	MaxLogoFile = 1 << 20
	// maxSide is the maximum width and height of such a file, in pixels.
	maxSide = 2048
	// maxScans is the maximum number of scans of a JPEG. It is more than a web picture needs.
	// Decoding a scan processes the whole picture, while a scan takes only a few bytes of the file.
	maxScans = 64
)

// Media types of a served logo.
const (
	TypePNG  = "image/png"
	TypeJPEG = "image/jpeg"
	TypeSVG  = "image/svg+xml"
)

// Logo is a square picture, encoded again from the merchant's file.
type Logo struct {
	Type string `json:"type"`
	Body []byte `json:"body"`
}

// Ending returns the file extension in the logo's address.
func (l Logo) Ending() string {
	switch l.Type {
	case TypeJPEG:
		return ".jpg"
	case TypeSVG:
		return ".svg"
	}
	return ".png"
}

// NewLogo makes a logo from a file. It encodes pixels again, and writes an SVG again. An SVG with unknown elements or
// attributes is refused. The error is a *FieldError.
func NewLogo(file []byte) (Logo, error) {
	l, err := newLogo(file)
	if err != nil {
		return Logo{}, &FieldError{Field: "logo", Fault: err.Error()}
	}
	return l, nil
}

// ParseLogo returns a logo that a service sent. It accepts only the types and sizes that NewLogo makes, and writes an
// SVG again as NewLogo does.
func ParseLogo(kind string, body []byte) (Logo, error) {
	l := Logo{Type: kind, Body: body}
	if len(body) > MaxLogo {
		return Logo{}, fmt.Errorf("has %d bytes, and may have at most %d", len(body), MaxLogo)
	}
	if kind == TypeSVG {
		clean, err := cleanSVG(body)
		return Logo{Type: TypeSVG, Body: clean}, err
	}
	if kind != TypePNG && kind != TypeJPEG {
		return Logo{}, errors.New("has an unknown type")
	}
	size, format, err := image.DecodeConfig(bytes.NewReader(body))
	switch {
	case err != nil:
		return Logo{}, fmt.Errorf("cannot be read: %w", err)
	case "image/"+format != kind:
		return Logo{}, fmt.Errorf("is of the type image/%s, not %s", format, kind)
	case max(size.Width, size.Height) > sides[0]:
		return Logo{}, fmt.Errorf("is %d × %d pixels, and may be at most %d × %d", size.Width, size.Height, sides[0], sides[0])
	}
	_, err = decode(body)
	return l, err
}

func newLogo(file []byte) (Logo, error) {
	switch {
	case len(file) == 0:
		return Logo{}, errors.New("is empty")
	case len(file) > MaxLogoFile:
		return Logo{}, fmt.Errorf("has %d bytes, and may have at most %d", len(file), MaxLogoFile)
	case looksLikeXML(file):
		body, err := cleanSVG(file)
		return Logo{Type: TypeSVG, Body: body}, err
	}
	picture, err := decode(file)
	if err != nil {
		return Logo{}, err
	}
	return encode(picture)
}

// looksLikeXML reports whether the first character after a byte order mark and white space is "<".
func looksLikeXML(file []byte) bool {
	file = bytes.TrimLeft(bytes.TrimPrefix(file, byteOrderMark), " \t\r\n")
	return bytes.HasPrefix(file, []byte("<"))
}

// decode decodes a picture. It checks the size before it decodes any pixels.
func decode(file []byte) (image.Image, error) {
	size, format, err := image.DecodeConfig(bytes.NewReader(file))
	if errors.Is(err, image.ErrFormat) {
		return nil, errors.New("must be a PNG, JPEG, WebP, GIF or SVG picture")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if size.Width < 1 || size.Height < 1 || size.Width > maxSide || size.Height > maxSide {
		return nil, fmt.Errorf("is %d × %d pixels, and may be at most %d × %d", size.Width, size.Height, maxSide, maxSide)
	}
	if !square(float64(size.Width), float64(size.Height)) {
		return nil, fmt.Errorf("is %d × %d pixels, and must be square", size.Width, size.Height)
	}
	if format == "jpeg" && bytes.Count(file, []byte("\xff\xda")) > maxScans {
		return nil, fmt.Errorf("has more than %d scans: save it as a plain JPEG", maxScans)
	}
	picture, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if b := picture.Bounds(); b.Empty() || !square(float64(b.Dx()), float64(b.Dy())) { // a GIF's first picture may cover only a part
		return nil, fmt.Errorf("begins with a picture of %d × %d pixels, and must be square", b.Dx(), b.Dy())
	}
	return picture, nil
}

// square reports whether two sides differ by at most two percent, which is not visible.
func square(width, height float64) bool {
	return max(width, height) <= 1.02*min(width, height)
}

// sides are the sizes at which a logo is encoded until it is small enough, in pixels. The first is
// four times the width on the page. The last always fits: 32 × 32 pixels of four bytes are
// 4 KiB uncompressed.
var sides = []int{128, 112, 96, 80, 64, 48, 32}

// encode encodes a picture at the largest size that fits in MaxLogo. An opaque picture may become a
// JPEG, which keeps photographs sharper.
func encode(picture image.Image) (Logo, error) {
	for _, side := range sides {
		small := scaled(picture, min(side, picture.Bounds().Dx())) // enlarging a small picture gains nothing
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, small); err != nil {
			return Logo{}, fmt.Errorf("cannot be encoded: %w", err)
		}
		if b.Len() <= MaxLogo {
			return Logo{Type: TypePNG, Body: b.Bytes()}, nil
		}
		if !small.Opaque() {
			continue
		}
		b.Reset()
		if err := jpeg.Encode(&b, small, &jpeg.Options{Quality: 85}); err != nil {
			return Logo{}, fmt.Errorf("cannot be encoded: %w", err)
		}
		if b.Len() <= MaxLogo {
			return Logo{Type: TypeJPEG, Body: b.Bytes()}, nil
		}
	}
	panic("theme: the smallest logo exceeds MaxLogo")
}

// scaled returns a picture scaled to a square. The page shows it on white, so a picture of light
// shapes on a transparent background gets a dark background.
func scaled(picture image.Image, side int) *image.NRGBA {
	small := image.NewNRGBA(image.Rect(0, 0, side, side))
	draw.CatmullRom.Scale(small, small.Bounds(), picture, picture.Bounds(), draw.Src, nil)
	if !isLight(small) {
		return small
	}
	dark := image.NewNRGBA(small.Bounds())
	draw.Draw(dark, dark.Bounds(), image.NewUniform(color.NRGBA{R: 0x12, G: 0x15, B: 0x1c, A: 0xff}), image.Point{}, draw.Src)
	draw.Draw(dark, dark.Bounds(), small, image.Point{}, draw.Over)
	return dark
}

// isLight reports whether a picture with transparent parts would be invisible on white.
func isLight(p *image.NRGBA) bool {
	var light, weight float64
	for i := 0; i < len(p.Pix); i += 4 {
		alpha := float64(p.Pix[i+3]) / 255
		light += alpha * colour{p.Pix[i], p.Pix[i+1], p.Pix[i+2]}.luminance()
		weight += alpha
	}
	// The picture is invisible if its average colour has a contrast of less than 1.5 with white, whose luminance is 1.
	return weight > 0 && !p.Opaque() && 1.05/(light/weight+0.05) < 1.5
}
