package client

import (
	"sync"
	"time"

	"chequer/internal/api"
)

const (
	// maxKept bounds how many creations are remembered.
	maxKept = 10_000
	// keptAfter is how long one is remembered after its price expired.
	keptAfter = 24 * time.Hour
)

// creation is the answer to a creation, and what was asked.
type creation struct {
	invoice   api.Invoice
	request   api.InvoiceRequest
	createdAt string
	offset    time.Duration // of the service's clock
	until     time.Time     // remembered so long
}

// memory is the creations of a service that may have nothing to read them by
// again. It is safe for concurrent use.
type memory struct {
	mu    sync.Mutex
	made  map[string]creation
	order []string // oldest first
}

// keep remembers a creation; the oldest ones make room.
func (m *memory) keep(now time.Time, made api.Invoice, r api.InvoiceRequest, offset time.Duration) {
	end, err := time.Parse(time.RFC3339Nano, made.ExpiredAt)
	if err != nil {
		end = now
	}
	r.Metadata, r.PaymentMethods = nil, nil // may be large, and are not shown
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.order) >= maxKept || len(m.order) > 0 && now.After(m.made[m.order[0]].until) {
		delete(m.made, m.order[0])
		m.order = m.order[1:]
	}
	if m.made == nil {
		m.made = map[string]creation{}
	}
	if _, again := m.made[made.ForeignID]; !again {
		m.order = append(m.order, made.ForeignID)
	}
	m.made[made.ForeignID] = creation{
		invoice: made, request: r, createdAt: now.Add(offset).UTC().Format(api.TimeLayout),
		offset: offset, until: end.Add(keptAfter - offset),
	}
}

// find returns a creation that is still remembered.
func (m *memory) find(now time.Time, id string) (creation, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	made, ok := m.made[id]
	if !ok || now.After(made.until) {
		return creation{}, false
	}
	return made, true
}

// clear forgets everything: the service can be asked.
func (m *memory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made, m.order = nil, nil
}

// plainFor is how long a service is believed to speak only the specification
// before it is asked again.
const plainFor = 10 * time.Minute

// service is what is known of the service. Once it showed that it is ours it
// stays so: an answer without a code is then from something in between.
type service struct {
	mu    sync.Mutex
	ours  bool
	plain time.Time // since when it is plain; zero when it is not known to be
}

func (s *service) isOurs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ours
}

func (s *service) setOurs() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ours, s.plain = true, time.Time{}
}

func (s *service) isPlain(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.plain.IsZero() && now.Sub(s.plain) < plainFor
}

func (s *service) setPlain(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plain = now
}
