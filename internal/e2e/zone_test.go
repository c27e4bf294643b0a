package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/locale"
)

// TestTimes_are_in_the_shoppers_zone checks every time of every state. With scripts it must be in the
// browser's time zone, without scripts in UTC, marked as such.
func TestTimes_are_in_the_shoppers_zone(t *testing.T) {
	s := newStubServiceIn(t, locale.All())
	for name, state := range map[string]func(*api.Resource){
		"expired": func(r *api.Resource) { r.Status, r.SecondsLeft = api.StatusExpired, -900 },
		"watched": func(r *api.Resource) {
			r.Status, r.SecondsLeft, r.WatchedUntil = api.StatusExpired, -900, time.Now().Add(24*time.Hour).UTC().Format(api.TimeLayout)
		},
		"seen": func(r *api.Resource) {
			r.Status, r.DueAmount, r.Payments = api.StatusPending, "0", []api.Payment{sentEther("seen")}
		},
		"paid": func(r *api.Resource) {
			r.Status, r.DueAmount, r.PaidAt, r.Payments = api.StatusPaid, "0", r.ExpiredAt, []api.Payment{sentEther("confirmed")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s.change(state)
			for _, noJS := range []bool{false, true} {
				tab := open(t, screen{name: "phone", width: 390, height: 844, noJS: noJS})
				_, err := chromedp.Call(tab.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"})
				tab.check(err)
				tab.visit(s.address)
				tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
				text := tab.text("body")
				if noJS {
					if !strings.Contains(text, "UTC") {
						t.Errorf("without scripts no time is marked UTC: %s", text)
					}
					continue
				}
				if strings.Contains(text, "UTC") || !strings.Contains(text, "GMT+9") {
					t.Errorf("with scripts a time is not in the browser's zone: %s", text)
				}
				tab.checkConsole()
			}
		})
	}
}
