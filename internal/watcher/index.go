package watcher

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// index holds the watched destinations in memory. It is kept between scans, and implements
// chain.Watched. A million destinations need less than 200 MB.
type index struct {
	numbers         map[string]uint64 // by script
	entries         []entry           // in the order of their numbers
	last            uint64            // highest number
	merchants       []string          // entries refer to them by index
	merchantIndexes map[string]uint32
	outpoints       map[string]bool
	aboveCursor     []chain.Transfer // recorded in blocks above the cursor
	marks           Marks
	droppedAt       time.Time                       // scanned time of the last removal of expired destinations
	accounts        map[string]*account             // by script
	requests        map[string]chain.PendingRequest // by payment hash; those whose payment is not recorded
	refunds         map[string][]refundOwner        // refunds by their scripts
	read            chain.Block                     // see chain.Accounts
	// unsettled is true if the accounts may differ from the recorded state.
	unsettled bool
}

// entry is a destination and its owner.
type entry struct {
	number       uint64
	watchedUntil int64  // in Unix seconds
	text         string // script and invoice ID in one string, to save memory
	script       uint32 // length of the script
	merchant     uint32 // index in merchants
}

// refundOwner is a refund to a script, with its invoice.
type refundOwner struct {
	invoice.Owner
	id    string
	until int64 // in Unix seconds
}

func (e entry) split() (script, invoiceID string) { return e.text[:e.script], e.text[e.script:] }

// newIndex returns an empty index. Its numbers are above those of the index before, so that Since
// returns all its scripts when it is called with a number of the index before.
func newIndex(before *index) *index {
	var last uint64
	if before != nil {
		last = before.last
	}
	return &index{last: last, numbers: map[string]uint64{}, merchantIndexes: map[string]uint32{}, outpoints: map[string]bool{}, accounts: map[string]*account{}, requests: map[string]chain.PendingRequest{}, refunds: map[string][]refundOwner{}, unsettled: true}
}

// Destination implements chain.Watched.
func (x *index) Destination(script string) bool {
	_, watched := x.numbers[script]
	return watched
}

// Since implements chain.Watched.
func (x *index) Since(number uint64) (iter.Seq[string], uint64) {
	entries := x.entries[x.find(number+1):]
	return func(yield func(string) bool) {
		for _, e := range entries {
			if script, _ := e.split(); !yield(script) {
				return
			}
		}
	}, x.last
}

// Outpoint implements chain.Watched.
func (x *index) Outpoint(outpoint string) bool { return x.outpoints[outpoint] }

var _ chain.Requests = (*index)(nil)

// Requests implements chain.Requests.
func (x *index) Requests() iter.Seq[chain.PendingRequest] { return maps.Values(x.requests) }

// Recorded implements chain.Watched.
func (x *index) Recorded() iter.Seq[chain.Transfer] { return slices.Values(x.aboveCursor) }

// owner returns the owner of a destination.
func (x *index) owner(script string) (invoice.Owner, bool) {
	number, watched := x.numbers[script]
	if !watched {
		return invoice.Owner{}, false
	}
	e := x.entries[x.find(number)]
	_, invoiceID := e.split()
	return invoice.Owner{InvoiceID: invoiceID, MerchantID: x.merchants[e.merchant]}, invoiceID != ""
}

// refundOwners returns the invoices with refunds to a script.
func (x *index) refundOwners(script string) []invoice.Owner {
	var list []invoice.Owner
	for _, o := range x.refunds[script] {
		if !slices.Contains(list, o.Owner) {
			list = append(list, o.Owner)
		}
	}
	return list
}

// find returns the index of the first entry whose number is at least the given number.
func (x *index) find(number uint64) int {
	i, _ := slices.BinarySearchFunc(x.entries, number, func(e entry, n uint64) int { return cmp.Compare(e.number, n) })
	return i
}

// add adds a destination, or extends the time for which it is watched.
func (x *index) add(d Destination) {
	if d.Request == nil {
		delete(x.requests, d.Script)
	} else {
		x.requests[d.Script] = *d.Request
	}
	isRefund := d.Refund != ""
	if isRefund {
		x.addRefund(d)
		d.InvoiceID = "" // the entry has no invoice
	}
	merchant := x.merchantIndex(d.MerchantID)
	if number, known := x.numbers[d.Script]; known {
		e := &x.entries[x.find(number)]
		_, invoiceID := e.split()
		if !isRefund {
			e.watchedUntil = d.Until.Unix()
		}
		if !isRefund && invoiceID == "" { // it was the destination of refunds only
			e.text, e.merchant = d.Script+d.InvoiceID, merchant
			x.addAccount(d, merchant)
		}
		return
	}
	x.last++
	e := entry{
		number: x.last, watchedUntil: d.Until.Unix(), text: d.Script + d.InvoiceID, script: uint32(len(d.Script)), merchant: merchant,
	}
	script, _ := e.split()
	x.numbers[script] = x.last
	x.entries = append(x.entries, e)
	x.addAccount(d, merchant)
}

// merchantIndex returns the index of a merchant in merchants.
func (x *index) merchantIndex(id string) uint32 {
	merchant, known := x.merchantIndexes[id]
	if !known {
		merchant = uint32(len(x.merchants))
		x.merchants = append(x.merchants, id)
		x.merchantIndexes[id] = merchant
	}
	return merchant
}

// addAccount adds the account of a destination whose balance is watched.
func (x *index) addAccount(d Destination, merchant uint32) {
	if d.Account == nil {
		return
	}
	x.accounts[d.Script] = &account{Account: *d.Account, merchant: merchant}
	// A destination that was dropped and is watched again has recorded rises.
	x.unsettled = x.unsettled || d.Account.Position <= x.marks[d.MerchantID]
}

// addRefund adds a refund to a script, or changes the time until which its payment is watched.
func (x *index) addRefund(d Destination) {
	owners, until := x.refunds[d.Script], d.Until.Unix()
	i := slices.IndexFunc(owners, func(o refundOwner) bool { return o.id == d.Refund })
	if i < 0 {
		x.refunds[d.Script] = append(owners, refundOwner{d.Owner, d.Refund, until})
		return
	}
	owners[i].until = until
}

// watchSpends watches the inputs of unconfirmed transfers.
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

// dropExpired removes expired destinations, at most once an hour.
func (x *index) dropExpired(scanned time.Time) {
	if scanned.Sub(x.droppedAt) < time.Hour {
		return
	}
	x.droppedAt = scanned
	for script, owners := range x.refunds {
		if x.refunds[script] = slices.DeleteFunc(owners, func(o refundOwner) bool { return o.until < scanned.Unix() }); len(x.refunds[script]) == 0 {
			delete(x.refunds, script)
		}
	}
	x.entries = slices.DeleteFunc(x.entries, func(e entry) bool {
		script, invoiceID := e.split()
		isExpired := len(x.refunds[script]) == 0 && (invoiceID == "" || e.watchedUntil < scanned.Unix())
		if isExpired {
			delete(x.numbers, script)
			delete(x.accounts, script)
			delete(x.requests, script)
		}
		return isExpired
	})
}
