package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"chequer/internal/programtest"
)

// waitTimeout is the timeout for anything that a page does, long enough for a loaded machine. Waits
// end as soon as their condition is true.
const waitTimeout = 60 * time.Second

// browser is one Chromium for the whole package, because its start is slow.
var browser struct {
	once   sync.Once
	ctx    context.Context
	cancel context.CancelFunc
	err    error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.cancel != nil {
		browser.cancel()
	}
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(code)
}

// screen is a window size and the shopper's preferences.
type screen struct {
	name          string
	width, height int64
	dark, noJS    bool
}

var (
	phoneScreen     = screen{name: "phone", width: 390, height: 844}
	deskScreen      = screen{name: "desk", width: 1280, height: 900}
	phoneScreenNoJS = screen{name: "phone_without_javascript", width: 390, height: 844, noJS: true}
	darkScreenNoJS  = screen{name: "desk_without_javascript_dark", width: 1280, height: 900, noJS: true, dark: true}
)

var screens = []screen{phoneScreen, deskScreen, phoneScreenNoJS, darkScreenNoJS}

// tab is a tab of the browser. It collects console messages.
type tab struct {
	t       *testing.T
	ctx     context.Context
	screen  screen
	mu      sync.Mutex
	console []string
	traffic *traffic // nil until traffic is counted
}

// open opens a tab of a screen, which is closed when the test ends.
func open(t *testing.T, s screen, options ...chromedp.ContextOption) *tab {
	t.Helper()
	programtest.RequireProgram(t, "chromium")
	browser.once.Do(func() {
		flags := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(90*time.Second),
			chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
			chromedp.Flag("disable-back-forward-cache", true)) // without the cache, going back loads the page again
		allocator, _ := chromedp.NewExecAllocator(context.Background(), flags...)
		browser.ctx, browser.cancel = chromedp.NewContext(allocator)
		browser.err = chromedp.Do(browser.ctx)
	})
	if browser.err != nil {
		t.Fatalf("start chromium: %v", browser.err)
	}
	ctx, cancel := chromedp.NewContext(browser.ctx, options...)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, screen: s}
	b.check(chromedp.Do(ctx)) // a tab closes with the context of its first action
	b.do(chromedp.EmulateViewport(s.width, s.height, chromedp.EmulateScale(2)))
	b.collectMessages()
	if s.dark {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
		})
		b.check(err)
	}
	if s.noJS {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		b.check(err)
	}
	return b
}

// sandboxMessage is part of the message with which Chromium reports that it does not run the init scripts of a tab in a
// sandboxed frame. The pages that are shown in such frames have no scripts, which their own tests check.
const sandboxMessage = "'allow-scripts' permission is not set"

// collectMessages collects warnings and errors of the console.
func (b *tab) collectMessages() {
	go func() {
		for m := range chromedp.Console(b.ctx) {
			if strings.Contains(m.Text, sandboxMessage) {
				continue
			}
			if m.Type == "error" || m.Type == "warning" || m.Type == chromedp.ConsoleException {
				b.mu.Lock()
				b.console = append(b.console, string(m.Type)+": "+m.Text)
				b.mu.Unlock()
			}
		}
	}()
}

// checkConsole fails if the console has a warning or an error.
func (b *tab) checkConsole() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.console {
		b.t.Errorf("console: %s", line)
	}
}

// check ends the test if there is an error.
func (b *tab) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// do runs actions one after another.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	b.check(chromedp.Do(ctx, steps...))
}

// visit loads a page.
func (b *tab) visit(url string) { b.t.Helper(); b.do(chromedp.Navigate(url)) }

// text returns the text of the first matching element, or "" if there is none, because the page may be
// changing.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[string](fmt.Sprintf(`(document.querySelector(%q)||{textContent:""}).textContent.trim()`, selector)))
}

// attribute returns an attribute of the first matching element.
func (b *tab) attribute(selector, name string) string {
	b.t.Helper()
	r := get(b, chromedp.AttributeValue(chromedp.CSS(selector), name))
	return r.Value
}

// click clicks the first matching element when it is visible.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// send presses a form's button. Without scripts that loads another page. send waits for it, because
// another navigation meanwhile would cancel the request.
func (b *tab) send(selector string) {
	b.t.Helper()
	if !b.screen.noJS {
		b.click(selector)
		return
	}
	page := chromedp.Evaluate[float64](`document.readyState === "complete" ? performance.timeOrigin : 0`)
	before := get(b, page)
	b.click(selector)
	until(b.t, waitTimeout, "the form's answer is loaded", func() bool {
		now, err := chromedp.Run(b.ctx, page) // it fails while there is no page
		return err == nil && now != 0 && now != before
	})
}

// waitFor waits until an element's text contains words. Between two looks it calls reload, unless
// that is nil; without scripts a page changes only when it is loaded again.
func (b *tab) waitFor(selector, words string, reload func()) {
	b.t.Helper()
	deadline := time.Now().Add(waitTimeout)
	last := ""
	for time.Now().Before(deadline) {
		last = b.text(selector)
		if strings.Contains(last, words) {
			return
		}
		b.do(chromedp.Sleep(100 * time.Millisecond))
		if reload != nil {
			reload()
		}
	}
	b.t.Fatalf("at %s %s has the text %q, want %q", get(b, chromedp.Location()), selector, last, words)
}

// get runs an action that reads the page and returns its result. An action that another page interrupts
// runs again on that page.
func get[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	for {
		value, err := chromedp.Run(ctx, action)
		if err == nil || !replacedPage(err) {
			b.check(err)
			return value
		}
	}
}

// replacedPage reports whether the browser cancelled an action because it loaded another page.
func replacedPage(err error) bool {
	for _, message := range []string{"Inspected target navigated or closed", "Execution context was destroyed", "Cannot find context with specified id"} {
		if strings.Contains(err.Error(), message) {
			return true
		}
	}
	return false
}
