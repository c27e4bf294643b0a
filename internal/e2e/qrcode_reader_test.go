package e2e_test

import (
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The pictures are screenshots of correct codes that the decoder reads in no size while they are upright.
func TestReadCode_reads_codes_that_only_rotation_makes_readable(t *testing.T) {
	files, err := filepath.Glob("testdata/codes/*.png")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pictures: %v", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			picture, _, err := image.Decode(file)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := readCode(withoutCorners(picture)); err != nil || !strings.HasPrefix(text, "ethereum:0x") {
				t.Errorf("read %q, %v", text, err)
			}
		})
	}
}
