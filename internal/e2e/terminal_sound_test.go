package e2e_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/app"
)

// webKit simulates WebKit on phones. A new audio context is suspended and starts some time later
// or, if window.silent is set, only by resume() after a tap; runLate() starts it without one. Timers of two seconds, the
// limit after which the page gives up, are kept in window.late and do not run. The wake lock is granted only during
// a tap. window.tones counts the played tones.
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
	window.setTimeout = (task, ms, ...more) => ms === 2000 ? late.push(task) : after(task, ms, ...more);
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
		tab := open(t, phoneScreen)
		tab.addInitScript(fmt.Sprintf(webKit, silent))
		tab.visit(terminal)
		tab.do(chromedp.SendKeys(chromedp.CSS("#amount"), "12.50"))
		tab.click("form .btn")
		tab.do(chromedp.WaitVisible(chromedp.CSS(".next a")))
		page := get(tab, chromedp.Location())
		tab.visit(page) // without a tap
		tab.do(chromedp.WaitVisible(chromedp.CSS(".next a")))
		return tab, idOf(page)
	}
	tones := func(b *tab) int { return get(b, chromedp.Evaluate[int]("tones")) }
	pay := func(b *tab, id string) {
		shop.simulate(id, api.SimulateExact, api.SimulateConfirm)
		b.waitFor(".due .k", "Paid", nil)
	}
	t.Run("sounds_two_tones_once_the_context_runs", func(t *testing.T) {
		tab, id := createInvoice(t, false)
		pay(tab, id)
		until(t, waitTimeout, "two tones sound", func() bool { return tones(tab) >= 2 })
		if got := tones(tab); got != 2 {
			t.Errorf("%d tones were played, want 2", got)
		}
		tab.checkConsole()
	})
	t.Run("a_tap_before_enables_the_sound", func(t *testing.T) {
		tab, id := createInvoice(t, true)
		tab.click(".due")
		pay(tab, id)
		until(t, waitTimeout, "two tones sound", func() bool { return tones(tab) == 2 })
		tab.checkConsole()
	})
	t.Run("stays_silent_after_the_time_limit", func(t *testing.T) {
		b, id := createInvoice(t, true)
		pay(b, id)
		until(t, waitTimeout, "the time limit runs", func() bool { return get(b, chromedp.Evaluate[int]("late.length")) > 0 })
		got := get(b, chromedp.Evaluate[int](`(async () => {
			late.forEach(task => task());
			runLate();
			await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
			return tones;
		})()`, chromedp.EvalAwaitPromise))
		if got != 0 {
			t.Errorf("%d tones were played after the time limit, want none", got)
		}
	})
	t.Run("the_screen_is_kept_on_from_the_first_tap", func(t *testing.T) {
		tab, _ := createInvoice(t, false)
		const awake = `document.body.dataset.awake || "no"`
		if got := get(tab, chromedp.Evaluate[string](awake)); got != "no" {
			t.Errorf("the wake lock is held without a tap: %s", got)
		}
		tab.click(".due")
		until(t, waitTimeout, "the wake lock is held", func() bool { return get(tab, chromedp.Evaluate[string](awake)) == "1" })
		tab.checkConsole()
	})
}
