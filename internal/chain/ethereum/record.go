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
	// finalBatch is the number of final blocks that are collected before they are read for the last
	// time.
	finalBatch = 32
	// secondReadAge is the age at which blocks are read for the second time: an endpoint
	// may have a block shortly before it can return its logs.
	secondReadAge = 20 * time.Second
	// maxAddresses is the number of destinations up to which a source is queried by
	// address. For more, it is less work to read the transfers to all addresses.
	maxAddresses = 1000
)

// reading is the last reading of the logs of a block.
type reading int

const (
	unread    reading = iota
	readOnce          // when the block was new
	readTwice         // after secondReadAge
	readFinal         // when it was final
)

// record is one covered block, or a range of blocks that ends with it.
type record struct {
	Header
	first     int64 // height of the first block
	read      reading
	logs      []Log // to all addresses, or to those in the query
	complete  bool  // logs are those to all addresses
	transfers []chain.Transfer
}

// read reads the logs of records that were not read yet, and reads those again that have
// reached the age of the second or of the final reading. If nothing is watched, it reads none.
func (v *view) read(ctx context.Context, final int64, watched chain.Watched) error {
	scripts, _ := watched.Since(0)
	if !nonEmpty(scripts) {
		return nil
	}
	due := v.due(final)
	for i := 0; i < len(v.records); i++ {
		if !due(v.records[i]) {
			continue
		}
		end := i + 1
		for end < len(v.records) && due(v.records[end]) && v.records[end].Height-v.records[i].first < maxRange {
			end++
		}
		if err := v.readRange(ctx, v.records[i:end], final, scripts, watched); err != nil {
			return err
		}
		i = end - 1
	}
	return nil
}

// wantedReading returns the reading that a record should have had by now.
func (v *view) wantedReading(r record, final int64) reading {
	switch {
	case r.Height <= final:
		return readFinal
	case r.Height <= v.last().Height-v.secondReadLag:
		return readTwice
	}
	return readOnce
}

// due returns a function that reports whether a record is read now: new records at once,
// others when enough of them are due to be read together.
func (v *view) due(final int64) func(record) bool {
	waiting := map[reading]int64{}
	for _, r := range v.records {
		if goal := v.wantedReading(r, final); r.read != unread && r.read < goal {
			waiting[goal] += r.Height - r.first + 1
		}
	}
	return func(r record) bool {
		switch goal := v.wantedReading(r, final); {
		case r.read == unread:
			return true
		case r.read >= goal:
			return false
		case goal == readFinal:
			return waiting[readFinal] >= finalBatch
		}
		return waiting[readTwice] >= v.secondReadLag
	}
}

// readRange reads the logs of adjoining records in one query.
func (v *view) readRange(ctx context.Context, records []record, final int64, to iter.Seq[string], watched chain.Watched) error {
	logs, complete, err := v.readLogs(ctx, records, to)
	if err != nil {
		return err
	}
	for i := range records {
		r := &records[i]
		if err := v.addLogs(ctx, r, logs, watched.Destination); err != nil {
			return err
		}
		r.read, r.complete = v.wantedReading(*r, final), r.complete || complete
	}
	return nil
}

// readLogs reads the logs of adjoining records, in the order of their blocks. complete reports
// whether they are the logs to all addresses, and not only those to the given destinations.
func (v *view) readLogs(ctx context.Context, records []record, to iter.Seq[string]) (logs []Log, complete bool, err error) {
	if len(v.contracts) == 0 { // only the network's native coin is watched
		return nil, true, nil
	}
	query := Query{Contracts: v.contracts}
	if v.source.ByAddress() && hasAtMost(to, maxAddresses) {
		query.To = slices.Collect(to)
	}
	span := Span{From: records[0].first, To: records[len(records)-1].Header}
	if logs, err = v.source.Logs(ctx, span, query); err != nil {
		return nil, false, fmt.Errorf("blocks %d to %d: %w", span.From, span.To.Height, err)
	}
	slices.SortStableFunc(logs, func(a, b Log) int { return cmp.Compare(a.Height, b.Height) })
	return logs, query.To == nil, nil
}

// hasAtMost reports whether a sequence has at most the given number of entries.
func hasAtMost(s iter.Seq[string], limit int) bool {
	for range s {
		if limit--; limit < 0 {
			return false
		}
	}
	return true
}

// logsBetween returns the logs of a range of blocks from a list in their order.
func logsBetween(logs []Log, first, last int64) []Log {
	height := func(l Log, height int64) int { return cmp.Compare(l.Height, height) }
	start, _ := slices.BinarySearchFunc(logs, first, height)
	end, _ := slices.BinarySearchFunc(logs, last+1, height)
	return logs[start:max(start, end)]
}

// addLogs adds logs to a record of their blocks, and makes transfers of those to wanted
// destinations.
func (v *view) addLogs(ctx context.Context, r *record, logs []Log, wanted func(script string) bool) error {
	logs = logsBetween(logs, r.first, r.Height)
	if len(logs) == 0 {
		return v.addTransfers(ctx, r, r.logs, wanted)
	}
	known := map[Log]int{}
	for i, l := range r.logs {
		known[l.Event()] = i
	}
	merged := slices.Clone(r.logs)
	for _, l := range logs {
		if i, isKnown := known[l.Event()]; isKnown {
			merged[i].Operators |= l.Operators
			continue
		}
		known[l.Event()] = len(merged)
		merged = append(merged, l)
	}
	if err := v.addTransfers(ctx, r, merged, wanted); err != nil {
		return err
	}
	r.logs = merged
	return nil
}

// addTransfers adds to the record transfers of the logs to wanted destinations, once the source confirms them.
func (v *view) addTransfers(ctx context.Context, r *record, logs []Log, wanted func(script string) bool) error {
	var claims []Log
	headers := map[int64]Header{}
	for _, l := range logs {
		if l.Amount == ([32]byte{}) || !wanted(l.script()) || r.hasLog(l) {
			continue
		}
		header, known := headers[l.Height]
		if !known {
			header = r.Header
			if l.Height != r.Height {
				var err error
				if header, err = v.header(ctx, l.Height); err != nil {
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

// hasLog reports whether the record already has the transfer of a log.
func (r *record) hasLog(l Log) bool {
	id := transferID(l)
	return slices.ContainsFunc(r.transfers, func(t chain.Transfer) bool { return t.ID == id })
}

// transferID returns an ID that is unique on the network: the index of a log is unique in its
// block, and a transaction is in at most one block of the best chain.
func transferID(l Log) string { return fmt.Sprintf("%s:%d", l.Tx, l.Index) }

func (v *view) transfer(l Log, block *chain.Block) chain.Transfer {
	asset := v.tokens[l.Contract]
	return chain.Transfer{
		ID: transferID(l), Tx: l.Tx.String(), Asset: asset.Code, Script: l.script(),
		Amount: money.FromMinor(new(big.Int).SetBytes(l.Amount[:]), asset.Currency), Block: block,
	}
}

// addScripts searches the records for destinations that were added since the last call.
func (v *view) addScripts(ctx context.Context, watched chain.Watched) error {
	added, next := watched.Since(v.scripts)
	set := map[string]bool{}
	for s := range added {
		set[s] = true
	}
	if len(set) == 0 {
		v.scripts = next
		return nil
	}
	wanted := func(script string) bool { return set[script] }
	for i := 0; i < len(v.records); {
		end := i
		for end < len(v.records) && v.records[end].read != unread && v.records[end].Height-v.records[i].first < maxRange {
			end++
		}
		if end == i {
			i++
			continue
		}
		if err := v.addScriptsIn(ctx, v.records[i:end], added, wanted); err != nil {
			return err
		}
		i = end
	}
	v.scripts = next
	return nil
}

// addScriptsIn searches adjoining records for added destinations. The logs of records that
// do not have the logs to all addresses are read again.
func (v *view) addScriptsIn(ctx context.Context, records []record, added iter.Seq[string], wanted func(string) bool) error {
	var logs []Log
	if slices.ContainsFunc(records, func(r record) bool { return !r.complete }) {
		var err error
		if logs, _, err = v.readLogs(ctx, records, added); err != nil {
			return err
		}
	}
	for i := range records {
		if err := v.addLogs(ctx, &records[i], logs, wanted); err != nil {
			return err
		}
	}
	return nil
}

// readUpTo returns the number of records, from the first on, that have been read.
func (v *view) readUpTo() int {
	i := slices.IndexFunc(v.records, func(r record) bool { return r.read == unread })
	if i < 0 {
		return len(v.records)
	}
	return i
}

// nonEmpty reports whether a sequence has an entry.
func nonEmpty(s iter.Seq[string]) bool { return !hasAtMost(s, 0) }
