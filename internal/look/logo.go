package look

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // a format that logos come in
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // a format that logos come in
)

const (
	// MaxLogo is how many bytes a logo is sent with at most.
	MaxLogo = 8 << 10
	// MaxLogoFile is how many bytes the file has at most that a logo is made of.
	MaxLogoFile = 1 << 20
	// maxSide is how many pixels such a file has at most, each way.
	maxSide = 2048
	// maxScans is more than a picture in a browser needs: each scan of a JPEG goes
	// over all of it, and costs a few bytes.
	maxScans = 64
)

// The types of a logo as it is sent.
const (
	TypePNG  = "image/png"
	TypeJPEG = "image/jpeg"
	TypeSVG  = "image/svg+xml"
)

// Logo is a square picture, made anew from what the merchant gave.
type Logo struct {
	Type string `json:"type"`
	Body []byte `json:"body"`
}

// Ending is what the logo's address ends in.
func (l Logo) Ending() string {
	switch l.Type {
	case TypeJPEG:
		return ".jpg"
	case TypeSVG:
		return ".svg"
	}
	return ".png"
}

// NewLogo makes a logo of a file: of pixels anew, or of an SVG what is known to be
// harmless. The error is a *FieldError.
func NewLogo(file []byte) (Logo, error) {
	l, err := newLogo(file)
	if err != nil {
		return Logo{}, &FieldError{Field: "logo", Fault: err.Error()}
	}
	return l, nil
}

// Sent is a logo that a service sent: of a type and a size that NewLogo makes, and
// an SVG as it makes one.
func Sent(kind string, body []byte) (Logo, error) {
	l := Logo{Type: kind, Body: body}
	if len(body) > MaxLogo {
		return Logo{}, fmt.Errorf("has %d bytes, and may have %d", len(body), MaxLogo)
	}
	if kind == TypeSVG {
		clean, err := cleanSVG(body)
		return Logo{Type: TypeSVG, Body: clean}, err
	}
	if kind != TypePNG && kind != TypeJPEG {
		return Logo{}, errors.New("has an unknown type")
	}
	_, err := decode(body)
	return l, err
}

func newLogo(file []byte) (Logo, error) {
	switch {
	case len(file) == 0:
		return Logo{}, errors.New("is empty")
	case len(file) > MaxLogoFile:
		return Logo{}, fmt.Errorf("has %d bytes, and may have %d", len(file), MaxLogoFile)
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

// looksLikeXML tells whether a file begins as only a text of tags does.
func looksLikeXML(file []byte) bool {
	file = bytes.TrimLeft(bytes.TrimPrefix(file, byteOrderMark), " \t\r\n")
	return bytes.HasPrefix(file, []byte("<"))
}

// decode reads a picture whose size was looked at before anything was unpacked.
func decode(file []byte) (image.Image, error) {
	size, format, err := image.DecodeConfig(bytes.NewReader(file))
	if errors.Is(err, image.ErrFormat) {
		return nil, errors.New("must be a PNG, JPEG, WebP, GIF or SVG picture")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if size.Width < 1 || size.Height < 1 || size.Width > maxSide || size.Height > maxSide {
		return nil, fmt.Errorf("is %d × %d pixels, and may be %d × %d", size.Width, size.Height, maxSide, maxSide)
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
	if b := picture.Bounds(); b.Empty() || !square(float64(b.Dx()), float64(b.Dy())) { // a GIF's first picture may be a part of it
		return nil, fmt.Errorf("begins with a picture of %d × %d pixels, and must be square", b.Dx(), b.Dy())
	}
	return picture, nil
}

// square tells whether two sides differ by no more than people see.
func square(width, height float64) bool {
	return max(width, height) <= 1.02*min(width, height)
}

// sides are those that a logo is tried in: four pixels for each of the page, then
// fewer until it is small enough. The last one always is: 32 × 32 pixels of four
// bytes are 4 KiB before they are compressed.
var sides = []int{128, 112, 96, 80, 64, 48, 32}

// encode draws a picture anew, as large as its bytes allow. What is opaque may
// become a JPEG, which keeps photographs sharper.
func encode(picture image.Image) (Logo, error) {
	for _, side := range sides {
		small := scaled(picture, min(side, picture.Bounds().Dx())) // what is small already gains nothing
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, small); err != nil {
			return Logo{}, fmt.Errorf("cannot be drawn: %w", err)
		}
		if b.Len() <= MaxLogo {
			return Logo{Type: TypePNG, Body: b.Bytes()}, nil
		}
		if !small.Opaque() {
			continue
		}
		b.Reset()
		if err := jpeg.Encode(&b, small, &jpeg.Options{Quality: 85}); err != nil {
			return Logo{}, fmt.Errorf("cannot be drawn: %w", err)
		}
		if b.Len() <= MaxLogo {
			return Logo{Type: TypeJPEG, Body: b.Bytes()}, nil
		}
	}
	return Logo{}, errors.New("cannot be made small enough")
}

// scaled is a picture in a square. The page's tile is white: light shapes on nothing
// would not be seen there, so they get a dark ground.
func scaled(picture image.Image, side int) *image.NRGBA {
	small := image.NewNRGBA(image.Rect(0, 0, side, side))
	draw.CatmullRom.Scale(small, small.Bounds(), picture, picture.Bounds(), draw.Src, nil)
	if !light(small) {
		return small
	}
	dark := image.NewNRGBA(small.Bounds())
	draw.Draw(dark, dark.Bounds(), image.NewUniform(color.NRGBA{R: 0x12, G: 0x15, B: 0x1c, A: 0xff}), image.Point{}, draw.Src)
	draw.Draw(dark, dark.Bounds(), small, image.Point{}, draw.Over)
	return dark
}

// light tells whether what is drawn on nothing would be lost on white.
func light(p *image.NRGBA) bool {
	var light, weight float64
	for i := 0; i < len(p.Pix); i += 4 {
		alpha := float64(p.Pix[i+3]) / 255
		light += alpha * colour{p.Pix[i], p.Pix[i+1], p.Pix[i+2]}.luminance()
		weight += alpha
	}
	return weight > 0 && !p.Opaque() && 1.05/(light/weight+0.05) < 1.5
}
