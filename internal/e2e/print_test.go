package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/programtest"
)

// TestPrinted_headings_stay_with_their_method prints an open invoice on paper of several heights. No
// printed page may end with a method's heading.
func TestPrinted_headings_stay_with_their_method(t *testing.T) {
	programtest.RequireProgram(t, "pdftotext")
	site, tab := newDemoSite(t), open(t, deskScreen)
	atInvoice(forOrder)(tab, site)
	headings := get(tab, chromedp.Evaluate[[]string](`[...document.querySelectorAll(".way h3")].map(e => e.textContent.trim())`))
	if len(headings) < 6 {
		t.Fatalf("headings %q", headings)
	}
	folder := t.TempDir()
	breaks := 0
	for height := 7.0; height < 13; height += 0.5 {
		file := filepath.Join(folder, "page.pdf")
		tab.check(os.WriteFile(file, get(tab, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperSize{Width: 8.27, Height: height}))), 0o600))
		text, err := exec.CommandContext(t.Context(), "pdftotext", "-layout", file, "-").Output()
		tab.check(err)
		pages := strings.Split(strings.TrimRight(string(text), "\f\n "), "\f")
		for i, page := range pages[:len(pages)-1] {
			breaks++
			lines := strings.Split(strings.TrimSpace(page), "\n")
			last := strings.TrimSpace(lines[len(lines)-1])
			if slices.Contains(headings, last) {
				t.Errorf("on paper %.1f inches high page %d ends with the heading %q", height, i+1, last)
			}
		}
	}
	if breaks < 12 {
		t.Errorf("only %d page breaks, want at least 12", breaks)
	}
}
