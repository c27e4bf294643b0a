package e2e_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/app"
)

// webKit simulates WebKit on phones. A new audio context is suspended and starts some time later
// or, if window.silent is set, only by resume() after a tap. The wake lock is granted only during a
// tap. tones counts the played tones.
const webKit = `(() => {
	window.tones = 0;
	window.silent = %t;
	const tapped = () => navigator.userActivation.isActive;
	const node = {gain: {setValueAtTime() {}, exponentialRampToValueAtTime() {}}, frequency: {}, connect: other => other};
	const waiting = [];
	window.AudioContext = class {
		state = "suspended";
		currentTime = 0;
		constructor() { if (!silent) setTimeout(() => { this.state = "running"; this.onstatechange?.(); }, 20); }
		resume() {
			return new Promise(done => {
				const run = () => { this.state = "running"; this.onstatechange?.(); done(); };
				if (!silent || tapped() || this.state === "running") setTimeout(run, 20); else waiting.push(run);
			});
		}
		createGain() { return node; }
		createOscillator() { return {...node, start: () => { if (this.state === "running") tones++; }, stop() {}}; }
	};
	window.runLate = () => waiting.splice(0).forEach(run => run());
	window.late = [];
	const after = setTimeout;
	window.setTimeout = (what, ms, ...more) => ms === 2000 ? late.push(what) : after(what, ms, ...more);
	navigator.wakeLock.request = () => tapped() ? Promise.resolve({released: false}) : Promise.reject(new DOMException("no tap", "NotAllowedError"));
})()`

// TestTerminal_on_WebKit_sounds_once checks that the terminal plays its sound once when an invoice is
// paid, and that the screen stays on.
func TestTerminal_on_WebKit_sounds_once(t *testing.T) {
	t.Parallel()
	c := settings(t)
	p := start(t, c, app.Options{Demo: true})
	shop := newShop(t, p.url, p.key)
	terminal, _ := p.createTerminal(t, c)
	createInvoice := func(t *testing.T, silent bool) (*tab, string) {
		b := open(t, screens[0])
		b.addInitScript(fmt.Sprintf(webKit, silent))
		b.visit(terminal)
		b.do(chromedp.SendKeys(chromedp.CSS("#amount"), "12.50"))
		b.click("form .btn")
		b.do(chromedp.WaitVisible(chromedp.CSS(".next a")))
		page := get(b, chromedp.Location())
		b.visit(page) // without a tap
		b.do(chromedp.WaitVisible(chromedp.CSS(".next a")))
		return b, idOf(page)
	}
	tones := func(b *tab) int { return get(b, chromedp.Evaluate[int]("tones")) }
	pay := func(b *tab, id string) {
		shop.simulate(id, api.SimulateExact, api.SimulateConfirm)
		b.waitFor(".due .k", "Paid", nil)
	}
	t.Run("sounds_two_tones_once_the_context_runs", func(t *testing.T) {
		b, id := createInvoice(t, false)
		pay(b, id)
		until(t, waitTimeout, "two tones sound", func() bool { return tones(b) >= 2 })
		if got := tones(b); got != 2 {
			t.Errorf("%d tones were played, want 2", got)
		}
		b.checkConsole()
	})
	t.Run("a_tap_before_enables_the_sound", func(t *testing.T) {
		b, id := createInvoice(t, true)
		b.click(".due")
		pay(b, id)
		until(t, waitTimeout, "two tones sound", func() bool { return tones(b) == 2 })
		b.checkConsole()
	})
	t.Run("stays_silent_after_the_time_limit", func(t *testing.T) {
		b, id := createInvoice(t, true)
		pay(b, id)
		until(t, waitTimeout, "the time limit runs", func() bool { return get(b, chromedp.Evaluate[int]("late.length")) > 0 })
		got := get(b, chromedp.Evaluate[int](`(async () => {
			late.forEach(end => end());
			runLate();
			await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
			return tones;
		})()`, chromedp.EvalAwaitPromise))
		if got != 0 {
			t.Errorf("%d tones were played after the time limit, want none", got)
		}
	})
	t.Run("the_screen_is_kept_on_from_the_first_tap", func(t *testing.T) {
		b, _ := createInvoice(t, false)
		const awake = `document.body.dataset.awake || "no"`
		if got := get(b, chromedp.Evaluate[string](awake)); got != "no" {
			t.Errorf("the wake lock is held without a tap: %s", got)
		}
		b.click(".due")
		until(t, waitTimeout, "the wake lock is held", func() bool { return get(b, chromedp.Evaluate[string](awake)) == "1" })
		b.checkConsole()
	})
}
