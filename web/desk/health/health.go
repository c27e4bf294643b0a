// Package health shows at the desk whether the networks are scanned, and what an examination of the
// installation has found.
package health

import (
	"context"
	"net/http"
	"sync"
	"time"

	"chequer/internal/account"
	"chequer/internal/chain"
	"chequer/internal/format"
	"chequer/internal/merchant"
	"chequer/internal/notify"
	"chequer/internal/readiness"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// Level is the severity of a finding.
type Level string

// The levels of a finding.
const (
	OK   Level = "ok"
	Note Level = "note" // neither a fault nor a success
	Warn Level = "warn"
	Fail Level = "fail"
)

// Finding is one result of an examination.
type Finding struct {
	Level   Level
	About   string
	Message string
}

// Screens are the pages of the health of the server.
type Screens struct {
	// Networks returns the state of the networks that a shop uses. It makes no requests to them.
	Networks func(ctx context.Context, shopID string) ([]readiness.Network, error)
	// Name returns the name of a network.
	Name func(chain.ID) string
	// Failed returns the notifications that were given up lately, newest first.
	Failed func(context.Context) ([]notify.Message, error)
	// Unreadable returns the identifiers of invoices of all shops that cannot be read.
	Unreadable func(context.Context) ([]string, error)
	// Examine examines the installation and one shop. It queries the sources of networks and rates, and may
	// take seconds.
	Examine func(context.Context, merchant.Merchant) ([]Finding, error)

	examining sync.Mutex // held during an examination
	mu        sync.Mutex
	last      map[string]examination // by merchant ID
}

// examination is the result of an examination. Its zero value means that there was none.
type examination struct {
	at    time.Time
	found []Finding
}

// page is a visit to one of the screens.
type page struct {
	*visit.Visit
	*Screens
}

// place is the path of the page.
const place = "/health"

// Routes lists the pages and the actions of the screens.
func (s *Screens) Routes() []visit.Route {
	on := visit.Pages(func(v *visit.Visit) *page { return &page{v, s} })
	return []visit.Route{
		{Method: http.MethodGet, Path: "/desk/:shop/health", Needs: account.ViewHealth, Handle: on((*page).health)},
		{Method: http.MethodPost, Path: "/desk/:shop/health/examine", Needs: account.ViewHealth, Handle: on((*page).examine)},
	}
}

// health shows the state of the networks and the last examination.
func (v *page) health() error {
	f, err := v.Frame(v.Text("desk.health"), place)
	if err != nil {
		return err
	}
	networks, err := v.Networks(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return err
	}
	h := desk.Health{Frame: f, Action: v.Below(place + "/examine")}
	isDemo, err := v.IsDemo(v.Request().Context())
	if err != nil {
		return err
	}
	if isDemo {
		h.Networks = []desk.Finding{{Shape: "ok", About: v.Text("desk.health.test"), Text: v.Text("desk.health.simulated")}}
	}
	for _, n := range networks {
		if isDemo {
			h.Networks = append(h.Networks, desk.Finding{Shape: "off", About: v.Name(n.Network), Text: v.Text("desk.health.unused")})
		} else {
			h.Networks = append(h.Networks, v.network(n))
		}
	}
	if h.Messages, err = v.failedMessages(); err != nil {
		return err
	}
	unreadable, err := v.Unreadable(v.Request().Context())
	if err != nil {
		return err
	}
	if n := len(unreadable); n > 0 {
		h.Faults = []desk.Finding{{Shape: "bad", About: v.Text("desk.health.database"), Text: v.Words.Count("desk.health.unreadable", n)}}
	}
	last := v.lastExamination()
	if last.at.IsZero() {
		return v.Show(http.StatusOK, desk.HealthPage(h))
	}
	h.Examined = v.Text("desk.health.examined", "Time", v.Clock(last.at))
	for _, found := range last.found {
		entry := desk.Finding{Shape: shapes[found.Level], About: found.About, Text: found.Message}
		switch found.Level {
		case OK:
			h.Working = append(h.Working, entry)
		case Note:
			h.Notes = append(h.Notes, entry)
		default:
			h.Problems = append(h.Problems, entry)
		}
	}
	h.Summary = v.Text("desk.health.fine")
	if n := len(h.Problems); n > 0 {
		h.Summary = v.Words.Count("desk.health.problems", n)
	}
	return v.Show(http.StatusOK, desk.HealthPage(h))
}

// shapes are the symbols of levels.
var shapes = map[Level]string{OK: "ok", Note: "off", Warn: "warn", Fail: "bad"}

// network describes the state of a network.
func (v *page) network(n readiness.Network) desk.Finding {
	found := desk.Finding{About: v.Name(n.Network), Shape: "ok"}
	switch {
	case !n.Watched:
		found.Shape, found.Text = "off", v.Text("desk.health.unwatched")
		return found
	case n.ScannedAgo == nil:
		found.Shape, found.Text = "warn", v.Text("desk.health.unscanned")
	default:
		ago := v.Ago(v.Now().Add(-time.Duration(*n.ScannedAgo) * time.Second))
		found.Text = v.Text("desk.health.scanned", "Height", format.Grouped(n.Tip), "Time", ago)
		if n.Network.IsLightning() { // its only block has no meaning for people
			found.Text = v.Text("desk.health.lookedup", "Time", ago)
		}
	}
	if n.Peers > 0 {
		found.Text += " · " + v.Words.Count("desk.health.peers", n.Peers)
	}
	if n.Progress != "" {
		found.Text += " · " + n.Progress
	}
	if n.Fault != "" {
		found.Shape = "warn"
		found.Text += " · " + n.Fault
	}
	if !n.Reached {
		found.Shape = "bad"
		found.Text += " · " + v.Text("desk.health.unreached")
	}
	return found
}

// failedMessages describes the notifications that could not be sent: for each channel their number and the newest
// fault.
func (v *page) failedMessages() (found []desk.Finding, err error) {
	failed, err := v.Failed(v.Request().Context())
	if err != nil {
		return nil, err
	}
	for _, channel := range notify.Channels {
		number, fault := 0, ""
		for _, m := range failed {
			if m.Channel != channel {
				continue
			}
			if number == 0 {
				fault = m.Fault
			}
			number++
		}
		if number > 0 {
			found = append(found, desk.Finding{Shape: "warn", About: v.Text(channel.Label()), Text: v.Words.Count("desk.health.messages", number, "Fault", fault)})
		}
	}
	return found, nil
}

// minExamineInterval is the age up to which the result of an examination is used instead of a new examination.
const minExamineInterval = 10 * time.Second

// examine examines the installation. If an examination runs already, it waits for its result.
func (v *page) examine() error {
	v.examining.Lock()
	defer v.examining.Unlock()
	if v.Now().Sub(v.lastExamination().at) > minExamineInterval {
		found, err := v.Examine(v.Request().Context(), v.Shop)
		if err != nil {
			return err
		}
		v.mu.Lock()
		if v.last == nil {
			v.last = map[string]examination{}
		}
		v.last[v.Shop.ID] = examination{at: v.Now(), found: found}
		v.mu.Unlock()
	}
	return v.Done(v.Below(place), "examined")
}

// lastExamination returns the result of the last examination of the shop.
func (v *page) lastExamination() examination {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last[v.Shop.ID]
}
