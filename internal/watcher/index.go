package watcher

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// index answers "is this ours?" from memory. It is kept from scan to scan, and
// implements chain.Watched. A million destinations fit into less than 200 MB.
type index struct {
	numbers   map[string]uint64 // by script
	entries   []entry           // in the order of their numbers, as they came
	last      uint64            // number of the newest
	merchants []string          // entries name them by their place here
	places    map[string]uint32
	outpoints map[string]bool
	held      []chain.Transfer // recorded in blocks above the cursor
	marks     Marks
	dropped   time.Time
	accounts  map[string]*account // by script
	read      chain.Block         // see chain.Accounts
	// unsettled tells that the accounts may differ from what is recorded.
	unsettled bool
}

// entry is whose destination a script is.
type entry struct {
	number   uint64
	until    int64  // Unix seconds
	text     string // the script, then the invoice's ID: one piece of memory
	script   uint32 // length
	merchant uint32 // in merchants
}

func (e entry) split() (script, invoiceID string) { return e.text[:e.script], e.text[e.script:] }

// newIndex is an empty index whose scripts are numbered above those of the one
// before, so that all of them are new to who has a mark of that.
func newIndex(before *index) *index {
	var last uint64
	if before != nil {
		last = before.last
	}
	return &index{last: last, numbers: map[string]uint64{}, places: map[string]uint32{}, outpoints: map[string]bool{}, accounts: map[string]*account{}, unsettled: true}
}

// Destination implements chain.Watched.
func (x *index) Destination(script string) bool {
	_, ours := x.numbers[script]
	return ours
}

// Since implements chain.Watched.
func (x *index) Since(number uint64) (iter.Seq[string], uint64) {
	fresh := x.entries[x.find(number+1):]
	return func(yield func(string) bool) {
		for _, e := range fresh {
			if script, _ := e.split(); !yield(script) {
				return
			}
		}
	}, x.last
}

// Outpoint implements chain.Watched.
func (x *index) Outpoint(outpoint string) bool { return x.outpoints[outpoint] }

// Recorded implements chain.Watched.
func (x *index) Recorded() iter.Seq[chain.Transfer] { return slices.Values(x.held) }

// owner finds whose destination a script is.
func (x *index) owner(script string) (invoice.Owner, bool) {
	number, ours := x.numbers[script]
	if !ours {
		return invoice.Owner{}, false
	}
	e := x.entries[x.find(number)]
	_, invoiceID := e.split()
	return invoice.Owner{InvoiceID: invoiceID, MerchantID: x.merchants[e.merchant]}, true
}

// find is the place of the first entry that has a number or a higher one.
func (x *index) find(number uint64) int {
	i, _ := slices.BinarySearchFunc(x.entries, number, func(e entry, n uint64) int { return cmp.Compare(e.number, n) })
	return i
}

// add takes in a destination that was committed since the last marks.
func (x *index) add(d Destination) {
	if number, known := x.numbers[d.Script]; known {
		x.entries[x.find(number)].until = d.Until.Unix()
		return
	}
	place, known := x.places[d.MerchantID]
	if !known {
		place = uint32(len(x.merchants))
		x.merchants = append(x.merchants, d.MerchantID)
		x.places[d.MerchantID] = place
	}
	x.last++
	e := entry{
		number: x.last, until: d.Until.Unix(), text: d.Script + d.InvoiceID, script: uint32(len(d.Script)), merchant: place,
	}
	script, _ := e.split()
	x.numbers[script] = x.last
	x.entries = append(x.entries, e)
	if d.Account != nil {
		x.accounts[script] = &account{Account: *d.Account, merchant: place}
		// One that was dropped and is watched again has rises that are recorded.
		x.unsettled = x.unsettled || d.Account.Born <= x.marks[d.MerchantID]
	}
}

// watchSpends watches the inputs of transfers that no block holds yet.
func (x *index) watchSpends(recorded []invoice.Recorded) {
	clear(x.outpoints)
	for _, r := range recorded {
		if r.BlockHash != "" {
			continue
		}
		for _, o := range r.Spends {
			x.outpoints[o] = true
		}
	}
}

// drop forgets, once an hour, destinations whose time is over.
func (x *index) drop(scanned time.Time) {
	if scanned.Sub(x.dropped) < time.Hour {
		return
	}
	x.dropped = scanned
	x.entries = slices.DeleteFunc(x.entries, func(e entry) bool {
		over := e.until < scanned.Unix()
		if over {
			script, _ := e.split()
			delete(x.numbers, script)
			delete(x.accounts, script)
		}
		return over
	})
}
