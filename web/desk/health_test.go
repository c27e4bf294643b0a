package desk_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/readiness"
	"chequer/web/desk/health"
)

func TestHealth_shows_networks_and_the_last_examination(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	recently, old := int64(3), int64(7200)
	f.networks = []readiness.Network{
		{Network: "bitcoin", Watched: true, Reached: true, Tip: 870123, ScannedAgo: &recently, Peers: 8},
		{Network: "base", Watched: true, Tip: 5, ScannedAgo: &old, Fault: "connection refused"},
		{Network: "litecoin"},
		{Network: "ethereum", Watched: true},
	}
	b.get("/desk/shop/health").want(http.StatusOK, "Network bitcoin", "Scanned to block 870,123, now · 8 peers", "connection refused", "not offered now", "Not watched", "Not scanned yet", "Examine now")
	if f.examinations != 0 {
		t.Error("the page examined the installation without being asked")
	}
	f.findings = []health.Finding{{Level: health.OK, About: "storage", Message: "accepts writes"}, {Level: health.Fail, About: "rates", Message: "no source gives a price"}}
	b.send("/desk/shop/health/examine").wantRedirect("/desk/shop/health?done=examined")
	got := b.get("/desk/shop/health").want(http.StatusOK, "1 finding needs attention.", "no source gives a price", "1 check passed", "accepts writes")
	if text := textOf(got.find("main details")); text != "1 check passed storage accepts writes" {
		t.Errorf("the closed list has %q, want the passed check of the storage", text)
	}

	b.send("/desk/shop/health/examine").wantRedirect("/desk/shop/health?done=examined")
	if f.examinations != 1 {
		t.Errorf("%d examinations within ten seconds, want 1", f.examinations)
	}
	f.clock.Advance(11 * time.Second)
	f.findings = f.findings[:1]
	b.send("/desk/shop/health/examine").wantRedirect("/desk/shop/health?done=examined")
	b.get("/desk/shop/health").want(http.StatusOK, "Everything works.")

	f.clock.Advance(11 * time.Second)
	f.examineError = errors.New("the disk is full")
	b.send("/desk/shop/health/examine").want(http.StatusInternalServerError)
	b.get("/desk/shop/health").want(http.StatusOK, "Everything works.")
}

// An invoice that a loop could not read is a fault of the server until it is repaired.
func TestHealth_shows_invoices_that_cannot_be_read(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	if text := b.get("/desk/shop/health").want(http.StatusOK).text(); strings.Contains(text, "cannot be read") {
		t.Errorf("before: %s", text)
	}
	f.unreadable = []string{"inv1"}
	got := b.get("/desk/shop/health").want(http.StatusOK, "Faults", "A stored invoice cannot be read and is skipped")
	if strings.Contains(got.text(), "inv1") {
		t.Error("the page has the identifier, with which the invoice can be read")
	}
}

// The page of a demo states that its networks are simulated, and shows no network as a fault. A note of the examination is neither a
// problem nor a passed check.
func TestHealth_of_a_demo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.demo = true
	f.networks = []readiness.Network{{Network: "base", Watched: true, Fault: "connection refused"}, {Network: "litecoin"}}
	f.findings = []health.Finding{{Level: health.Note, About: "demo", Message: "its networks are simulated"}, {Level: health.OK, About: "storage", Message: "accepts writes"}}
	b := f.owner()
	b.send("/desk/shop/health/examine").wantRedirect("/desk/shop/health?done=examined")
	got := b.get("/desk/shop/health").want(http.StatusOK, "Their networks and rates are simulated by this server.", "Network base Not used: the demo has no live payments.",
		"Everything works.", "1 check passed", "demo its networks are simulated")
	if faults := got.find("main .sh.bad, main .sh.warn"); faults.Length() != 0 || strings.Contains(got.text(), "connection refused") {
		t.Errorf("the page has %d symbols of faults, want none: %s", faults.Length(), got.text())
	}
}
