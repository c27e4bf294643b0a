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
	"chequer/internal/keys"
	"chequer/internal/money"
)

const (
	// patience is how long one scan may read blocks that were missed, before it
	// records what it has and goes on with the next.
	patience = 5 * time.Second
	// stride is how many blocks are read at once where all of them are final.
	stride = 100
	// step is how many blocks are read at once where each has to be known.
	step = 50
	// ripe is how many blocks are gathered before they are read once more.
	ripe = 32
	// byAddress is for how many destinations a source is asked by their addresses.
	// For more it is less to read the transfers to everybody.
	byAddress = 1000
)

// reading is how often the logs of a block were read.
type reading int

const (
	unread  reading = iota
	once            // before the block was final
	settled         // after it was
)

// view is the covered part of the best chain, kept from scan to scan so that what
// is in a block is read twice: when it comes, and when it is final.
type view struct {
	source    Source
	tokens    map[keys.EthereumAddress]chain.Asset
	contracts []keys.EthereumAddress
	behind    int64 // how far the cursor stays behind the tip

	base    Header
	records []record // each on top of the one before
	// scripts is the mark of the destinations that the records were looked through
	// for.
	scripts uint64
	// shown is the height of the last snapshot's tip, seen is when the tip was last
	// known to be the newest block.
	shown int64
	seen  time.Time
}

// record is one covered block, or a range of them that ends with it.
type record struct {
	Header
	first     int64 // height of the first block
	read      reading
	logs      []Log // to everybody, or to those who were asked for
	everybody bool
	transfers []chain.Transfer
}

func newView(source Source, assets []chain.Asset) view {
	v := view{source: source, tokens: map[keys.EthereumAddress]chain.Asset{}}
	for _, a := range assets {
		contract, err := keys.ParseEthereumAddress(a.Contract)
		if err != nil {
			panic("ethereum: contract of " + a.Code + ": " + err.Error())
		}
		v.tokens[contract] = a
		v.contracts = append(v.contracts, contract)
		for _, d := range a.Policy.Depth {
			v.behind = max(v.behind, int64(d.Confirmations))
		}
	}
	return v
}

// begin makes the view start at the cursor's block, or below the fork where that
// left the best chain.
func (v *view) begin(ctx context.Context, from chain.Cursor, best Best) error {
	if from.IsZero() {
		lowest := max(best.Height-v.behind, 0)
		if v.base.Hash != "" && v.base.Height <= lowest {
			return nil
		}
		return v.restart(ctx, lowest)
	}
	if from == v.base.Cursor() {
		return nil
	}
	i := slices.IndexFunc(v.records, func(r record) bool { return r.Cursor() == from })
	if i >= 0 {
		v.base, v.records = v.records[i].Header, slices.Clone(v.records[i+1:])
		return nil
	}
	if best.Height < from.Height {
		return fmt.Errorf("the endpoints are at block %d only, and block %d was read already", best.Height, from.Height)
	}
	if err := v.restart(ctx, from.Height); err != nil || v.base.Hash == from.Hash {
		return err
	}
	// Where the old chain left the best one is not known: begin lower.
	return v.restart(ctx, max(from.Height-v.behind, 0))
}

// restart forgets everything and begins above a height.
func (v *view) restart(ctx context.Context, height int64) error {
	v.base, v.records, v.scripts, v.shown = Header{}, nil, 0, height
	base, err := v.at(ctx, height)
	if err != nil {
		return err
	}
	v.base = base
	return nil
}

// at reads the header of one block.
func (v *view) at(ctx context.Context, height int64) (Header, error) {
	headers, err := v.source.Headers(ctx, height, height)
	if err != nil {
		return Header{}, err
	}
	return headers[0], nil
}

// last is the newest block of the view.
func (v *view) last() Header {
	if n := len(v.records); n > 0 {
		return v.records[n-1].Header
	}
	return v.base
}

// follow brings the view to the best block. Of the records, the first reached
// ones are read; behind tells that there is more above them.
func (v *view) follow(ctx context.Context, best Best, watched chain.Watched) (reached int, behind bool, err error) {
	if err := v.keep(ctx, best); err != nil {
		return 0, false, err
	}
	if err := v.lookAgain(ctx, watched); err != nil {
		return 0, false, err
	}
	begin := time.Now()
	for {
		err := v.read(ctx, v.final(best), watched)
		if err == nil && v.last().Height < best.Height {
			if v.last().Height-v.base.Height > v.behind && time.Since(begin) > patience {
				return len(v.records), true, nil
			}
			if err = v.extend(ctx, best); err == nil {
				continue
			}
		}
		if err == nil {
			if v.last().Hash == best.Hash {
				v.seen = best.At
			}
			return len(v.records), false, nil
		}
		reached = v.readUpTo()
		if n := reached - 1; n >= 0 && v.records[n].Height > v.shown && ctx.Err() == nil {
			return reached, true, nil // the next scan meets the fault, if it lasts
		}
		return 0, false, err
	}
}

// final is the height up to which no block leaves the chain any more.
func (v *view) final(best Best) int64 {
	if best.Final > 0 {
		return best.Final
	}
	return best.Height - v.behind
}

// keep forgets records that left the best chain. An endpoint that lags does not
// count: its block is one of ours.
func (v *view) keep(ctx context.Context, best Best) error {
	for len(v.records) > 0 {
		last := v.last()
		var on bool
		switch {
		case best.Height > last.Height:
			next, err := v.source.Headers(ctx, last.Height+1, last.Height+1)
			if err != nil {
				return err
			}
			on = next[0].Parent == last.Hash
		case best.Height == last.Height:
			on = best.Hash == last.Hash
		default:
			i := slices.IndexFunc(v.records, func(r record) bool { return r.first <= best.Height && best.Height <= r.Height })
			on = i < 0 || v.records[i].Height != best.Height || v.records[i].Hash == best.Hash
		}
		if on {
			return nil
		}
		v.records = v.records[:len(v.records)-1]
		v.shown = min(v.shown, v.last().Height)
	}
	if best.Height <= v.base.Height {
		if best.Height == v.base.Height && best.Hash != v.base.Hash {
			return v.lower(ctx)
		}
		return nil
	}
	next, err := v.at(ctx, v.base.Height+1)
	if err != nil {
		return err
	}
	if next.Parent != v.base.Hash {
		return v.lower(ctx)
	}
	return nil
}

// lower begins again below a base that left the chain.
func (v *view) lower(ctx context.Context) error {
	if err := v.restart(ctx, max(v.base.Height-v.behind, 0)); err != nil {
		return err
	}
	return errMoved
}

// extend adds the next blocks on the way to the best one: a range in one record
// where they are final, else one by one, so that their hashes are known.
func (v *view) extend(ctx context.Context, best Best) error {
	last := v.last()
	if end := min(last.Height+stride, v.final(best)); end > last.Height+1 {
		header, err := v.at(ctx, end)
		if err != nil {
			return err
		}
		v.records = append(v.records, record{Header: header, first: last.Height + 1})
		return nil
	}
	headers, err := v.source.Headers(ctx, last.Height+1, min(last.Height+step, best.Height))
	if err != nil {
		return err
	}
	for _, h := range headers {
		if h.Parent != last.Hash {
			return errMoved
		}
		v.records, last = append(v.records, record{Header: h, first: h.Height}), h
	}
	if last.Height == best.Height && last.Hash != best.Hash {
		return errMoved
	}
	return nil
}

// read reads the logs of records that were not read yet, or not since they are
// final. While nothing is watched there is nothing to read them for.
func (v *view) read(ctx context.Context, final int64, watched chain.Watched) error {
	all, _ := watched.Since(0)
	if !some(all) {
		return nil
	}
	again := v.ripe(final)
	wants := func(r record) bool {
		return r.read == unread || again && r.read == once && r.Height <= final
	}
	for i := 0; i < len(v.records); i++ {
		if !wants(v.records[i]) {
			continue
		}
		end := i + 1
		for end < len(v.records) && wants(v.records[end]) && v.records[end].Height-v.records[i].first < stride {
			end++
		}
		if err := v.readRange(ctx, v.records[i:end], final, all, watched); err != nil {
			return err
		}
		i = end - 1
	}
	return nil
}

// ripe tells whether enough blocks became final to read them once more together.
func (v *view) ripe(final int64) bool {
	if len(v.records) == 0 {
		return false
	}
	waiting := int64(0)
	for _, r := range v.records {
		if r.read == once && r.Height <= final {
			waiting += r.Height - r.first + 1
		}
	}
	return waiting >= ripe
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
		r.read, r.everybody = once, r.everybody || everybody
		if r.Height <= final {
			r.read = settled
		}
	}
	return nil
}

// ask reads the logs of adjoining records, in the order of their blocks: those to
// some destinations at least, or to everybody.
func (v *view) ask(ctx context.Context, records []record, to iter.Seq[string]) (logs []Log, everybody bool, err error) {
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
	blocks := map[int64]*chain.Block{}
	for _, l := range logs {
		if l.Amount == ([32]byte{}) || !ours(l.script()) || r.has(l) {
			continue
		}
		block, known := blocks[l.Height]
		if !known {
			header := r.Header
			if l.Height != r.Height {
				var err error
				if header, err = v.at(ctx, l.Height); err != nil {
					return err
				}
			}
			block = &header.Block
			blocks[l.Height] = block
		}
		if block.Hash == l.Block.String() {
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
	for _, l := range confirmed {
		r.transfers = append(r.transfers, v.transfer(l, blocks[l.Height]))
	}
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

// snapshot is what the first so many records show.
func (v *view) snapshot(reached int, watched chain.Watched) chain.Snapshot {
	s := chain.Snapshot{From: v.base.Cursor(), Tip: v.base.Block, Next: v.base.Cursor(), Blocks: map[int64]string{v.base.Height: v.base.Hash}}
	records := v.records[:reached]
	if reached > 0 {
		s.Tip = records[reached-1].Block
	}
	v.shown = s.Tip.Height
	all, _ := watched.Since(0)
	idle, pass := !some(all), true
	for _, r := range records {
		s.Blocks[r.Height] = r.Hash
		pass = pass && r.Height <= s.Tip.Height-v.behind && (idle || r.read == settled)
		if pass {
			s.Next = r.Cursor()
		}
		for _, t := range r.transfers {
			if watched.Destination(t.Script) {
				s.Blocks[t.Block.Height] = t.Block.Hash
				s.Transfers = append(s.Transfers, t)
			}
		}
	}
	return s
}

// some tells whether there is anything in a sequence.
func some(s iter.Seq[string]) bool { return !atMost(s, 0) }
