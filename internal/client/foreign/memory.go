package foreign

import (
	"sync"
	"time"

	"chequer/internal/api"
)

const (
	// maxMemory bounds the number of remembered creations.
	maxMemory = 10_000
	// memoryTTL is the time that a creation is remembered after its price has expired.
	memoryTTL = 24 * time.Hour
)

// creation is the answer to a creation, with its request.
type creation struct {
	invoice   api.Invoice
	request   api.InvoiceRequest
	createdAt string
	offset    time.Duration // of the service's clock
	until     time.Time     // end of its time in memory
}

// memory holds the creations at a service that may have no call to read them again. It is safe for
// concurrent use.
type memory struct {
	mu    sync.Mutex
	made  map[string]creation
	order []string // oldest first
}

// keep remembers a creation and removes the oldest creations if there are too many.
func (m *memory) keep(now time.Time, created api.Invoice, r api.InvoiceRequest, offset time.Duration) {
	end, err := time.Parse(time.RFC3339Nano, created.ExpiredAt)
	if err != nil {
		end = now
	}
	r.Metadata, r.PaymentMethods = nil, nil // may be large, and are not shown
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.order) >= maxMemory || len(m.order) > 0 && now.After(m.made[m.order[0]].until) {
		delete(m.made, m.order[0])
		m.order = m.order[1:]
	}
	if m.made == nil {
		m.made = map[string]creation{}
	}
	if _, again := m.made[created.ForeignID]; !again {
		m.order = append(m.order, created.ForeignID)
	}
	m.made[created.ForeignID] = creation{
		invoice: created, request: r, createdAt: now.Add(offset).UTC().Format(api.TimeLayout),
		offset: offset, until: end.Add(memoryTTL - offset),
	}
}

// find returns a remembered creation.
func (m *memory) find(now time.Time, id string) (creation, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	created, ok := m.made[id]
	if !ok || now.After(created.until) {
		return creation{}, false
	}
	return created, true
}

// clear removes all creations: the service has a call to read them.
func (m *memory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made, m.order = nil, nil
}
