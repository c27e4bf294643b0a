package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"chequer/internal/programtest"
)

// frames are the windows in which every page is checked, each in two colour schemes.
var frames = []screen{
	{name: "narrow", width: 320, height: 640},
	{name: "phone", width: 390, height: 844},
	{name: "desk", width: 1280, height: 900},
}

// zoomed is a desktop window at 400 %. See WCAG 2.2, 1.4.10, "Reflow".
var zoomed = screen{name: "zoomed", width: 320, height: 256}

// TestPageStates checks every page: its size, console messages, policy violations, layout shifts,
// axe's findings, horizontal scrolling, and the visibility of the focus.
func TestPageStates(t *testing.T) {
	rules := axeScript(t)
	programtest.RequireProgram(t, "chromium")
	site := newDemoSite(t)
	t.Run("states", func(t *testing.T) { // returns after all parallel subtests
		for _, state := range pageStates {
			t.Run(state.name, func(t *testing.T) {
				t.Parallel()
				tab := openAlone(t, frames[1])
				tab.observe()
				state.reach(tab, site.in(t))
				tab.waitLoaded()

				if state.budget != checkedByReach {
					state.budget.check(tab)
				}
				tab.checkLayoutShift()
				for _, frame := range frames {
					for _, frame.dark = range []bool{false, true} {
						tab.reframe(frame, 1)
						tab.checkNoSidewaysScroll()
						tab.checkAccessibility(rules, frame)
					}
				}
				tab.reframe(frames[1], 1)
				tab.checkFocusVisible()
				tab.reframe(zoomed, 4)
				tab.checkNoSidewaysScroll()
				tab.checkFocusVisible()
				if os.Getenv("E2E_SHOTS") != "" {
					tab.pictures(state.name)
				}

				if state.status != 0 {
					tab.discardMessages(fmt.Sprintf("status of %d (%s)", state.status, http.StatusText(state.status)))
				}
				tab.checkPolicy()
				tab.checkConsole()
			})
		}
	})
}

// observeScript records layout shifts and policy violations of a page.
const observeScript = `
	window.moved = [];
	window.forbidden = [];
	new PerformanceObserver(list => list.getEntries().forEach(e => {
		if (!e.hadRecentInput) moved.push(e.value.toFixed(4) + " " + e.sources.map(s => s.node && (s.node.id || s.node.className || s.node.nodeName)));
	})).observe({type: "layout-shift", buffered: true});
	addEventListener("securitypolicyviolation", e => forbidden.push(e.effectiveDirective + ": " + (e.blockedURI || e.sample)));`

// observe records layout shifts, policy violations and traffic of every page that the tab opens
// from now on.
func (b *tab) observe() {
	b.t.Helper()
	b.addInitScript(observeScript)
	b.recordTraffic()
}

// checkLayoutShift fails if elements moved without input. See Cumulative Layout Shift.
func (b *tab) checkLayoutShift() {
	b.t.Helper()
	get(b, chromedp.Evaluate[bool](`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`, chromedp.EvalAwaitPromise))
	for _, moved := range get(b, chromedp.Evaluate[[]string](`moved`)) {
		b.t.Errorf("layout shift: %s", moved)
	}
}

// checkPolicy fails if the page violated its policy.
func (b *tab) checkPolicy() {
	b.t.Helper()
	for _, forbidden := range get(b, chromedp.Evaluate[[]string](`forbidden`)) {
		b.t.Errorf("policy violation: %s", forbidden)
	}
}

// prefer sets the browser's preferred colour scheme and further media features.
func (b *tab) prefer(dark bool, more ...*emulation.MediaFeature) {
	b.t.Helper()
	scheme := &emulation.MediaFeature{Name: "prefers-color-scheme", Value: "light"}
	if dark {
		scheme.Value = "dark"
	}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: append(more, scheme)})
	b.check(err)
}

// reframe changes the size of the page's window.
func (b *tab) reframe(s screen, scale float64) {
	b.t.Helper()
	b.prefer(s.dark)
	b.do(chromedp.EmulateViewport(s.width, s.height, chromedp.EmulateScale(scale)))
}

// axeVersion is the version that fetch.sh installs.
const axeVersion = "4.14.1"

// axeScript returns the script that checks the rules of WCAG.
func axeScript(t *testing.T) (script string) {
	t.Helper()
	text, err := os.ReadFile(programtest.FetchedPath("axe." + axeVersion + ".js"))
	if err != nil {
		programtest.SkipUnlessCI(t, "axe-core is not installed: %v", err)
	}
	return string(text)
}

// violation is a rule that elements of a page violate.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// runAxe runs the rules. It needs nothing that the page's policy forbids.
const runAxe = `axe.run(document, {
	runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"], preload: false,
}).then(result => JSON.stringify({rules: result.passes.length + result.violations.length, violations: result.violations}))`

// checkAccessibility fails if axe finds a violation.
func (b *tab) checkAccessibility(rules string, where screen) {
	b.t.Helper()
	if !get(b, chromedp.Evaluate[bool](`"axe" in window`)) {
		get(b, chromedp.Evaluate[bool](rules+";true"))
	}
	var found struct {
		Rules      int         `json:"rules"`
		Violations []violation `json:"violations"`
	}
	b.check(json.Unmarshal([]byte(get(b, chromedp.Evaluate[string](runAxe, chromedp.EvalAwaitPromise))), &found))
	if found.Rules < 10 {
		b.t.Errorf("%s: only %d rules were checked, want at least 10", nameWithScheme(where), found.Rules)
	}
	for _, v := range found.Violations {
		for _, n := range v.Nodes {
			b.t.Errorf("%s: %s: %s\n%s\n%s", nameWithScheme(where), v.ID, v.Help, n.HTML, n.Summary)
		}
	}
}

// nameWithScheme returns the name of a window with its colour scheme.
func nameWithScheme(s screen) string {
	if s.dark {
		return s.name + "_dark"
	}
	return s.name + "_light"
}

// coveredFocus lists the focusable elements that are covered while they have the focus, and fixed
// elements that cover most of the window. A radio button counts as visible if its label is. See
// WCAG 2.2, 2.4.11, "Focus Not Obscured".
const coveredFocus = `(() => {
	const bad = [], within = (x, y, e) => { const top = document.elementFromPoint(x, y); return top && (e.contains(top) || top.contains(e) && top.closest("a,button,label,summary,pre")); };
	document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, [tabindex='0']").forEach(e => {
		e.focus();
		if (document.activeElement !== e) return; // not shown
		const seen = e.matches(".vh") && e.labels && e.labels[0] || e, box = seen.getBoundingClientRect();
		const left = Math.max(0, box.left), right = Math.min(innerWidth, box.right), top = Math.max(0, box.top), bottom = Math.min(innerHeight, box.bottom);
		let clear = false;
		for (let i = 1; i < 8 && right > left && bottom > top; i++) for (let j = 1; j < 8; j++)
			clear = clear || within(left + (right - left) * i / 8, top + (bottom - top) * j / 8, seen);
		if (!clear) bad.push(e.outerHTML.slice(0, 100) + " is hidden while it has the focus");
	});
	document.querySelectorAll("body *").forEach(e => {
		if (!/fixed|sticky/.test(getComputedStyle(e).position)) return;
		const box = e.getBoundingClientRect();
		if (box.height > innerHeight / 2) bad.push(e.outerHTML.slice(0, 100) + " covers most of the window");
	});
	document.activeElement.blur();
	scrollTo(0, 0);
	return bad;
})()`

// checkFocusVisible fails if an element is covered while it has the focus.
func (b *tab) checkFocusVisible() {
	b.t.Helper()
	for _, bad := range get(b, chromedp.Evaluate[[]string](coveredFocus)) {
		b.t.Errorf("%dx%d: %s", b.width(), b.height(), bad)
	}
}

func (b *tab) width() int  { return get(b, chromedp.Evaluate[int](`innerWidth`)) }
func (b *tab) height() int { return get(b, chromedp.Evaluate[int](`innerHeight`)) }

// pictures saves screenshots of a page: phone and desktop, light and dark.
func (b *tab) pictures(name string) {
	b.t.Helper()
	for _, frame := range frames[1:] {
		for _, frame.dark = range []bool{false, true} {
			b.reframe(frame, 2)
			b.picture(screen{name: "state." + strings.ReplaceAll(name, "_", "-")}, nameWithScheme(frame))
		}
	}
}
