package e2e_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/locale"
)

// settableClock is a script that shifts the time of day in a page by window.shift milliseconds. It puts
// the functions that the page runs every half second into window.ticks, so that a test can call them.
const settableClock = `(() => {
	const real = Date, every = setInterval;
	window.shift = 0;
	window.ticks = [];
	window.Date = class extends real {
		constructor(...from) { from.length ? super(...from) : super(real.now() + shift); }
		static now() { return real.now() + shift; }
	};
	window.setInterval = (task, ms) => ms === 500 ? ticks.push(task) : every(task, ms);
})()`

// TestCountdown_ignores_the_time_of_day checks that a change of the time of day does not change the countdown.
func TestCountdown_ignores_the_time_of_day(t *testing.T) {
	s := newStubServiceIn(t, locale.All())
	tab := open(t, phoneScreen)
	tab.addInitScript(settableClock)
	tab.visit(s.address)
	tab.waitFor("#clock", ":", nil)
	const shownSeconds = `(() => {
		shift = %d;
		ticks.forEach(tick => tick());
		const [minutes, seconds] = clock.textContent.split(":").map(Number);
		return 60 * minutes + seconds;
	})()`
	seconds, err := strconv.Atoi(tab.attribute("#left", "value"))
	tab.check(err)
	for _, shift := range []int{0, 3600e3, -3600e3, 0} {
		got := get(tab, chromedp.Evaluate[int](fmt.Sprintf(shownSeconds, shift)))
		if got > seconds || got < seconds-int(waitTimeout.Seconds()) {
			t.Errorf("with the clock moved by %d ms the page shows %d s, want about %d s", shift, got, seconds)
		}
	}
	t.Run("asks_the_server_after_a_jump", func(t *testing.T) {
		// During a device's sleep monotonic time stops, while the time of day advances.
		requests := get(tab, chromedp.Evaluate[[]int](`(() => {
			let asked = 0;
			const real = fetch;
			window.fetch = (...request) => { asked++; return real(...request); };
			ticks.forEach(tick => tick());
			const before = asked;
			shift = 600e3;
			ticks.forEach(tick => tick());
			const after = asked;
			ticks.forEach(tick => tick());
			return [before, after, asked];
		})()`))
		if fmt.Sprint(requests) != "[0 1 1]" {
			t.Errorf("requests before the jump, after it, and later: %v, want [0 1 1]", requests)
		}
	})
	tab.checkConsole()
}
