package foreign

import (
	"sync"
	"time"

	"chequer/internal/api"
)

const (
	// maxCreations is the highest number of kept creations.
	maxCreations = 10_000
	// creationTTL is the time for which a creation is kept after its price has expired.
	creationTTL = 24 * time.Hour
)

// creation is the answer to a request that created an invoice, with that request.
type creation struct {
	invoice   api.Invoice
	request   api.InvoiceRequest
	createdAt string
	offset    time.Duration // service's clock minus the local clock
	expiresAt time.Time     // after which it is removed, by the local clock
}

// memory holds the invoices that were created at a service, for services without a call that reads an invoice. It is safe for
// concurrent use.
type memory struct {
	mu        sync.Mutex
	creations map[string]creation
	order     []string // oldest first
}

// store adds a creation. Before, it removes the oldest creations while they have expired or there are maxCreations.
func (m *memory) store(now time.Time, created api.Invoice, r api.InvoiceRequest, offset time.Duration) {
	end, err := time.Parse(time.RFC3339Nano, created.ExpiredAt)
	if err != nil {
		end = now
	}
	r.Metadata, r.PaymentMethods = nil, nil // may be large, and are not shown
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.order) >= maxCreations || len(m.order) > 0 && now.After(m.creations[m.order[0]].expiresAt) {
		delete(m.creations, m.order[0])
		m.order = m.order[1:]
	}
	if m.creations == nil {
		m.creations = map[string]creation{}
	}
	if _, isKnown := m.creations[created.ForeignID]; !isKnown {
		m.order = append(m.order, created.ForeignID)
	}
	m.creations[created.ForeignID] = creation{
		invoice: created, request: r, createdAt: now.Add(offset).UTC().Format(api.TimeLayout),
		offset: offset, expiresAt: end.Add(creationTTL - offset), // end is a time of the service's clock
	}
}

// find returns a remembered creation.
func (m *memory) find(now time.Time, id string) (creation, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	created, ok := m.creations[id]
	if !ok || now.After(created.expiresAt) {
		return creation{}, false
	}
	return created, true
}

// clear removes all creations. It is called when the service is found to have a call that reads invoices.
func (m *memory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.creations, m.order = nil, nil
}
