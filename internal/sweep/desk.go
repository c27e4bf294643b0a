package sweep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"chequer/internal/config"
	"chequer/internal/sweep/recorded"
	"chequer/internal/token"
)

// Desk settles recorded plans for the merchant's desk, and proposes transactions that a browser wallet sends and pays for. It is safe for
// concurrent use.
//
// While it reads a plan it holds the lease that Sender holds. It does not hold it while the wallet asks its owner: two desks that send the
// same carrier move each row once, and the second one pays a fee for nothing.
type Desk struct {
	config  config.Config
	storage SendStorage
	now     func() time.Time
	holder  string // of the leases of this process

	mu   sync.Mutex
	busy map[string]bool // by name of the lease
}

// NewDesk returns a new Desk, which reads the networks of the settings.
func NewDesk(c config.Config, s SendStorage, now func() time.Time) *Desk {
	return &Desk{config: c, storage: s, now: now, holder: token.New(idLength), busy: map[string]bool{}}
}

// deskTimeout bounds the time of a call. It is shorter than leaseTTL, so that no other process takes the lease over meanwhile.
const deskTimeout = 25 * time.Second

// Settle reads from the network which rows of authorizations are moved, records the states and returns the plan. It leaves the rows that send
// coins, and those of a plan with a payer, to Sender, because only the signed file has their transactions. It returns recorded.ErrNotFound, recorded.ErrHeld or a
// *recorded.NetworkError, beside errors of the storage.
func (d *Desk) Settle(ctx context.Context, merchantID, id string) (found recorded.Sweep, err error) {
	record, err := d.storage.Sweep(ctx, merchantID, id)
	if err != nil {
		return found, err
	}
	err = d.lease(ctx, record, func(ctx context.Context, s *Sender) error {
		_, err := s.Settle(ctx)
		found = s.Sweep()
		return err
	})
	return found, err
}

// Propose verifies a signed file, settles the plan, and returns what a browser wallet can send. It keeps nothing of the file. Its errors are
// those of Settle, and *recorded.FileError.
func (d *Desk) Propose(ctx context.Context, merchantID, id string, content []byte) (p recorded.Proposal, err error) {
	record, err := d.storage.Sweep(ctx, merchantID, id)
	if err != nil {
		return p, err
	}
	signed, err := readSigned(content)
	if err == nil {
		err = checkSigned(signed, record.Plan)
	}
	if err == nil && record.Plan.Payer != nil {
		err = fmt.Errorf("the plan %s has a payer: send the file with chequer sweep send", id)
	}
	if err != nil {
		return p, &recorded.FileError{Reason: err}
	}
	err = d.lease(ctx, record, func(ctx context.Context, s *Sender) error {
		if err := s.use(signed); err != nil {
			return err
		}
		p, err = s.propose(ctx)
		return err
	})
	return p, err
}

// lease calls use with a Sender of a plan while it holds the lease on the plans of the shop on the network.
func (d *Desk) lease(ctx context.Context, record recorded.Sweep, use func(context.Context, *Sender) error) (err error) {
	s, err := newSender(d.config, d.storage, record, d.now)
	if err != nil {
		return &recorded.NetworkError{Reason: err}
	}
	s.holder = d.holder
	if !d.begin(s.leaseName()) {
		return recorded.ErrHeld
	}
	defer d.end(s.leaseName())
	timed, cancel := context.WithTimeout(ctx, deskTimeout)
	defer cancel()
	if err := s.renew(timed); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Release(context.WithoutCancel(ctx))) }()
	if err := s.save(timed, nil); err != nil { // reads the record again, because another process may have changed it
		return err
	}
	return use(timed, s)
}

// begin marks a lease as in use by a call, and reports whether it was free in this process.
func (d *Desk) begin(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy[name] {
		return false
	}
	d.busy[name] = true
	return true
}

// end marks a lease as free.
func (d *Desk) end(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.busy, name)
}

// propose settles the plan, records the rows that the network would refuse, and returns what a browser wallet can send.
func (s *Sender) propose(ctx context.Context) (recorded.Proposal, error) {
	v, err := s.settle(ctx)
	if err != nil {
		return recorded.Proposal{}, err
	}
	fault, err := s.sendFault(ctx, v)
	if err != nil {
		return recorded.Proposal{}, err
	}
	p := recorded.Proposal{Fault: fault}
	if p.Fault == "" {
		if p.Carriers, err = s.carriers(ctx, v); err != nil {
			return p, &recorded.NetworkError{Reason: err}
		}
	}
	var changes []recorded.Change
	for i, row := range s.record.Rows {
		n, c := i+1, v.rows[i]
		if !s.isOpen(n) || c.state == recorded.Planned {
			continue
		}
		p.Failing = append(p.Failing, recorded.Failing{Number: n, State: c.state, Why: c.why})
		if p.Fault == "" && c.state != recorded.Expired && c.state != row.State {
			changes = append(changes, s.row(n, c.state, ""))
		}
	}
	err = s.save(ctx, changes)
	p.Sweep = s.record
	return p, err
}

// isOpen reports whether a row has an authorization that is neither sent nor moved. A row that the network refused before is open, because
// the network may accept it now.
func (s *Sender) isOpen(n int) bool {
	state := s.record.Rows[n-1].State
	return !s.record.Plan.Rows[n-1].SendsTransaction() && state != recorded.Moved && state != recorded.Sent
}
