package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/png"

	"github.com/chromedp/chromedp"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
	"golang.org/x/image/draw"
)

// decode reads the QR code of an element from a screenshot.
func (b *tab) decode(selector string) string {
	b.t.Helper()
	center := fmt.Sprintf(`document.querySelector(%q).scrollIntoView({block:"center"})`, selector)
	get(b, chromedp.Evaluate[any](center)) // so that elements fixed to the edges do not cover it
	b.settle(selector)
	picture, _, err := image.Decode(bytes.NewReader(get(b, chromedp.Screenshot(chromedp.CSS(selector)))))
	b.check(err)
	text, err := readCode(inside(picture))
	if err != nil {
		b.t.Fatalf("no QR code can be read from %s: %v", selector, err)
	}
	return text
}

// inside returns a picture of a code without the border and the round corners of its tile, which
// are dark on a dark page. A part of the quiet zone remains.
func inside(picture image.Image) image.Image {
	const tile = 20 // pixels; the quiet zone has at least 30
	return picture.(interface {
		SubImage(image.Rectangle) image.Image
	}).SubImage(picture.Bounds().Inset(tile))
}

// readCode reads a picture in several ways and in three sizes, as a camera does that moves nearer.
// The decoder sometimes finds a false corner pattern among the modules of a correct code. A phone
// tries again from another position; the test also tries the hint that the picture contains nothing
// but the code.
func readCode(picture image.Image) (string, error) {
	var faults []error
	for times := 1; times <= 3; times++ {
		near := image.NewGray(image.Rect(0, 0, picture.Bounds().Dx()*times, picture.Bounds().Dy()*times))
		draw.ApproxBiLinear.Scale(near, near.Bounds(), picture, picture.Bounds(), draw.Src, nil)
		text, err := readAs(near)
		if err == nil {
			return text, nil
		}
		faults = append(faults, err)
	}
	return "", errors.Join(faults...)
}

func readAs(picture image.Image) (string, error) {
	source := gozxing.NewLuminanceSourceFromImage(picture)
	var faults []error
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
			faults = append(faults, err)
		}
	}
	return "", errors.Join(faults...)
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
