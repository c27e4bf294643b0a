package ethereum

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

const (
	// ripe is how many final blocks are gathered before they are read for the last
	// time.
	ripe = 32
	// secondLook is how old blocks are that are read for the second time: endpoints
	// may have a block a moment before they can tell what is in it.
	secondLook = 20 * time.Second
	// byAddress is for how many destinations a source is asked by their addresses.
	// For more it is less to read the transfers to everybody.
	byAddress = 1000
)

// reading is how often the logs of a block were read.
type reading int

const (
	unread  reading = iota
	once            // when the block came
	twice           // a little later
	settled         // when it was final
)

// record is one covered block, or a range of them that ends with it.
type record struct {
	Header
	first     int64 // height of the first block
	read      reading
	logs      []Log // to everybody, or to those who were asked for
	everybody bool
	transfers []chain.Transfer
}

// read reads the logs of records that were not read yet, and once more of those
// that are older or final now. While nothing is watched there is nothing to read
// them for.
func (v *view) read(ctx context.Context, final int64, watched chain.Watched) error {
	all, _ := watched.Since(0)
	if !some(all) {
		return nil
	}
	due := v.due(final)
	for i := 0; i < len(v.records); i++ {
		if !due(v.records[i]) {
			continue
		}
		end := i + 1
		for end < len(v.records) && due(v.records[end]) && v.records[end].Height-v.records[i].first < stride {
			end++
		}
		if err := v.readRange(ctx, v.records[i:end], final, all, watched); err != nil {
			return err
		}
		i = end - 1
	}
	return nil
}

// goal is how often a record should have been read by now.
func (v *view) goal(r record, final int64) reading {
	switch {
	case r.Height <= final:
		return settled
	case r.Height <= v.last().Height-v.soon:
		return twice
	}
	return once
}

// due tells which records are read now: new ones at once, the others when enough of
// them wait to be read together.
func (v *view) due(final int64) func(record) bool {
	waiting := map[reading]int64{}
	for _, r := range v.records {
		if goal := v.goal(r, final); r.read != unread && r.read < goal {
			waiting[goal] += r.Height - r.first + 1
		}
	}
	return func(r record) bool {
		switch goal := v.goal(r, final); {
		case r.read == unread:
			return true
		case r.read >= goal:
			return false
		case goal == settled:
			return waiting[settled] >= ripe
		}
		return waiting[twice] >= v.soon
	}
}

// readRange reads the logs of adjoining records at once.
func (v *view) readRange(ctx context.Context, records []record, final int64, to iter.Seq[string], watched chain.Watched) error {
	logs, everybody, err := v.ask(ctx, records, to)
	if err != nil {
		return err
	}
	for i := range records {
		r := &records[i]
		if err := v.look(ctx, r, logs, watched.Destination); err != nil {
			return err
		}
		r.read, r.everybody = v.goal(*r, final), r.everybody || everybody
	}
	return nil
}

// ask reads the logs of adjoining records, in the order of their blocks: those to
// some destinations at least, or to everybody.
func (v *view) ask(ctx context.Context, records []record, to iter.Seq[string]) (logs []Log, everybody bool, err error) {
	if len(v.contracts) == 0 { // only the network's own coin is looked for
		return nil, true, nil
	}
	query := Query{Contracts: v.contracts}
	if v.source.ByAddress() && atMost(to, byAddress) {
		query.To = slices.Collect(to)
	}
	span := Span{From: records[0].first, To: records[len(records)-1].Header}
	if logs, err = v.source.Logs(ctx, span, query); err != nil {
		return nil, false, fmt.Errorf("blocks %d to %d: %w", span.From, span.To.Height, err)
	}
	slices.SortStableFunc(logs, func(a, b Log) int { return cmp.Compare(a.Height, b.Height) })
	return logs, query.To == nil, nil
}

// atMost tells whether a sequence has no more than so many entries.
func atMost(s iter.Seq[string], most int) bool {
	for range s {
		if most--; most < 0 {
			return false
		}
	}
	return true
}

// between are the logs of some blocks, out of a list in their order.
func between(logs []Log, first, last int64) []Log {
	height := func(l Log, height int64) int { return cmp.Compare(l.Height, height) }
	begin, _ := slices.BinarySearchFunc(logs, first, height)
	end, _ := slices.BinarySearchFunc(logs, last+1, height)
	return logs[begin:max(begin, end)]
}

// look takes the logs of a record's blocks in, and makes transfers of those that
// are ours.
func (v *view) look(ctx context.Context, r *record, logs []Log, ours func(script string) bool) error {
	logs = between(logs, r.first, r.Height)
	if len(logs) == 0 {
		return v.settle(ctx, r, r.logs, ours)
	}
	known := map[Log]int{}
	for i, l := range r.logs {
		known[l.Event()] = i
	}
	fresh := slices.Clone(r.logs)
	for _, l := range logs {
		if i, have := known[l.Event()]; have {
			fresh[i].Voices |= l.Voices
			continue
		}
		known[l.Event()] = len(fresh)
		fresh = append(fresh, l)
	}
	if err := v.settle(ctx, r, fresh, ours); err != nil {
		return err
	}
	r.logs = fresh
	return nil
}

// settle makes transfers of logs that are ours, once they are confirmed.
func (v *view) settle(ctx context.Context, r *record, logs []Log, ours func(script string) bool) error {
	var claims []Log
	headers := map[int64]Header{}
	for _, l := range logs {
		if l.Amount == ([32]byte{}) || !ours(l.script()) || r.has(l) {
			continue
		}
		header, known := headers[l.Height]
		if !known {
			header = r.Header
			if l.Height != r.Height {
				var err error
				if header, err = v.at(ctx, l.Height); err != nil {
					return err
				}
			}
			headers[l.Height] = header
		}
		if header.Hash == l.Block.String() {
			claims = append(claims, l)
		}
	}
	if len(claims) == 0 {
		return nil
	}
	confirmed, err := v.source.Confirm(ctx, claims)
	if err != nil {
		return err
	}
	transfers, err := v.credit(ctx, r, confirmed, headers)
	if err != nil {
		return err
	}
	r.transfers = append(r.transfers, transfers...)
	return nil
}

// has tells whether a log is among the transfers already.
func (r *record) has(l Log) bool {
	id := transferID(l)
	return slices.ContainsFunc(r.transfers, func(t chain.Transfer) bool { return t.ID == id })
}

// transferID is unique on the network: a log's number is unique in its block, and a
// transaction is in one block of the best chain at most.
func transferID(l Log) string { return fmt.Sprintf("%s:%d", l.Tx, l.Index) }

func (v *view) transfer(l Log, block *chain.Block) chain.Transfer {
	asset := v.tokens[l.Contract]
	return chain.Transfer{
		ID: transferID(l), Tx: l.Tx.String(), Asset: asset.Code, Script: l.script(),
		Amount: money.FromMinor(new(big.Int).SetBytes(l.Amount[:]), asset.Currency), Block: block,
	}
}

// lookAgain looks through the records for destinations that came since.
func (v *view) lookAgain(ctx context.Context, watched chain.Watched) error {
	fresh, next := watched.Since(v.scripts)
	set := map[string]bool{}
	for s := range fresh {
		set[s] = true
	}
	if len(set) == 0 {
		v.scripts = next
		return nil
	}
	ours := func(script string) bool { return set[script] }
	for i := 0; i < len(v.records); {
		end := i
		for end < len(v.records) && v.records[end].read != unread && v.records[end].Height-v.records[i].first < stride {
			end++
		}
		if end == i {
			i++
			continue
		}
		if err := v.lookAgainIn(ctx, v.records[i:end], fresh, ours); err != nil {
			return err
		}
		i = end
	}
	v.scripts = next
	return nil
}

// lookAgainIn looks through adjoining records, which are asked for again where
// their logs are not those to everybody.
func (v *view) lookAgainIn(ctx context.Context, records []record, fresh iter.Seq[string], ours func(string) bool) error {
	var logs []Log
	if slices.ContainsFunc(records, func(r record) bool { return !r.everybody }) {
		var err error
		if logs, _, err = v.ask(ctx, records, fresh); err != nil {
			return err
		}
	}
	for i := range records {
		if err := v.look(ctx, &records[i], logs, ours); err != nil {
			return err
		}
	}
	return nil
}

// readUpTo is how many records from the first on are read.
func (v *view) readUpTo() int {
	i := slices.IndexFunc(v.records, func(r record) bool { return r.read == unread })
	if i < 0 {
		return len(v.records)
	}
	return i
}

// some tells whether there is anything in a sequence.
func some(s iter.Seq[string]) bool { return !atMost(s, 0) }
