package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/png"
	"math"

	"github.com/chromedp/chromedp"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
	"golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
)

// decode reads the QR code of an element from a screenshot.
func (b *tab) decode(selector string) string {
	b.t.Helper()
	text, err := readCode(withoutCorners(b.elementPicture(selector)))
	if err != nil {
		b.t.Fatalf("no QR code can be read from %s: %v", selector, err)
	}
	return text
}

// elementPicture returns a screenshot of an element in the middle of the window.
func (b *tab) elementPicture(selector string) image.Image {
	b.t.Helper()
	center := fmt.Sprintf(`document.querySelector(%q).scrollIntoView({block:"center"})`, selector)
	get(b, chromedp.Evaluate[any](center)) // so that elements fixed to the edges do not cover it
	b.settle(selector)
	picture, _, err := image.Decode(bytes.NewReader(get(b, chromedp.Screenshot(chromedp.CSS(selector)))))
	b.check(err)
	return picture
}

// crop returns a picture without a border of the given number of pixels.
func crop(picture image.Image, border int) image.Image {
	return picture.(interface {
		SubImage(image.Rectangle) image.Image
	}).SubImage(picture.Bounds().Inset(border))
}

// readCode reads a picture in several sizes and rotations, as a camera in a moving hand takes it. The decoder
// sometimes finds a false corner pattern among the modules of a correct code, or a grid that is off by a module. In
// another size or rotation it does not.
func readCode(picture image.Image) (string, error) {
	var errs []error
	for _, degrees := range []float64{0, 2, -3, 5, -7} {
		for _, times := range []float64{1, 2, 3, 1.5, 2.5} {
			text, err := readAs(rotate(picture, times, degrees*math.Pi/180))
			if err == nil {
				return text, nil
			}
			errs = append(errs, err)
		}
	}
	return "", errors.Join(errs...)
}

// rotate returns a picture on white, enlarged and rotated around its center.
func rotate(picture image.Image, times, radians float64) image.Image {
	from := picture.Bounds()
	width, height := float64(from.Dx())*times, float64(from.Dy())*times
	sin, cos := math.Sincos(radians)
	// The rotated picture fits into its bounding box.
	boxWidth := width*cos + height*math.Abs(sin)
	boxHeight := height*cos + width*math.Abs(sin)
	rotated := image.NewGray(image.Rect(0, 0, int(math.Ceil(boxWidth)), int(math.Ceil(boxHeight))))
	draw.Draw(rotated, rotated.Bounds(), image.White, image.Point{}, draw.Src)
	centerX, centerY := float64(from.Min.X+from.Max.X)/2, float64(from.Min.Y+from.Max.Y)/2
	draw.ApproxBiLinear.Transform(rotated, f64.Aff3{
		times * cos, -times * sin, boxWidth/2 - times*(cos*centerX-sin*centerY),
		times * sin, times * cos, boxHeight/2 - times*(sin*centerX+cos*centerY),
	}, picture, from, draw.Over, nil)
	return rotated
}

// readAs reads a picture as it is, with several settings of the decoder.
func readAs(picture image.Image) (string, error) {
	source := gozxing.NewLuminanceSourceFromImage(picture)
	var errs []error
	for _, hint := range []gozxing.DecodeHintType{
		gozxing.DecodeHintType_TRY_HARDER, gozxing.DecodeHintType_PURE_BARCODE,
	} {
		for _, binarizer := range []gozxing.Binarizer{
			gozxing.NewHybridBinarizer(source), gozxing.NewGlobalHistgramBinarizer(source),
		} {
			bitmap, err := gozxing.NewBinaryBitmap(binarizer)
			if err != nil {
				return "", err
			}
			result, err := qrcode.NewQRCodeReader().Decode(bitmap, map[gozxing.DecodeHintType]any{hint: true})
			if err == nil {
				return result.GetText(), nil
			}
			errs = append(errs, err)
		}
	}
	return "", errors.Join(errs...)
}

// settle waits until an element does not move between two frames. Without scripts
// requestAnimationFrame does not run, but then no script moves the element either.
func (b *tab) settle(selector string) {
	b.t.Helper()
	if b.screen.noJS {
		return
	}
	get(b, chromedp.Evaluate[bool](fmt.Sprintf(`new Promise(done => {
		const element = document.querySelector(%q);
		let last = "";
		(function check() {
			const now = JSON.stringify(element.getBoundingClientRect());
			if (now === last) return done(true);
			last = now;
			requestAnimationFrame(check);
		})();
	})`, selector), chromedp.EvalAwaitPromise))
}
