package invoice

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
)

// allocation is a part of a transfer with its own first sighting. A transaction that replaced others,
// such as a fee bump, inherits their first sightings, up to the amounts that they paid.
type allocation struct {
	amount    *big.Int // smallest units of the asset
	firstSeen time.Time
	old       bool // older than the invoice
}

// recipient identifies the destination of a transfer and the asset that it receives.
type recipient struct {
	network       chain.ID
	asset, script string
}

func (t Transfer) recipient() recipient { return recipient{t.Network, t.Asset, t.Script} }

// transaction is a transaction that pays the invoice, with all its transfers.
type transaction struct {
	id        string
	spends    []string
	firstSeen time.Time // of the earliest of its transfers
	present   bool      // at least one of its transfers is present
	amount    big.Int   // smallest units of its present transfers
	unsure    bool      // a present transfer is unsure
	accepted  bool      // the merchant accepted a present transfer
	// worthwhile is true if a present transfer is not dust.
	worthwhile bool
	unfinal    bool // a present transfer is not final
	confirmed  bool
	replaced   bool       // a transaction that counts spends one of its inputs
	transfers  []Transfer // in the order of their IDs
}

// counts reports whether the transaction is present and not replaced.
func (t *transaction) counts() bool { return t.present && !t.replaced }

// conflicts indexes the transfers of an invoice by the outpoints that their transactions spend.
// Each result for a transaction is computed once, so the cost grows linearly with the number of
// transfers and outpoints, not with its square.
type conflicts struct {
	transfers    []Transfer // by ID
	transactions map[string]*transaction
	byOutpoint   map[string][]*transaction
	winners      map[string]*transaction // by outpoint: the transaction that counts
	offsets      map[string]*big.Int     // by transfer: amount of earlier transfers of its transaction to the same recipient

	amounts            map[txRecipient]*big.Int            // of all transfers of the transaction
	presentAmounts     map[txRecipient]*big.Int            // of the present transfers of the transaction
	replacementAmounts map[txRecipient]*big.Int            // of the present transfers of its replacements
	inheritances       map[txRecipient][]inheritance       // from the transactions that the transaction replaced
	inheritedEarlier   map[txRecipient]map[string]*big.Int // results of inheritedBefore
}

// txRecipient is a transaction with one of its recipients.
type txRecipient struct {
	tx string
	recipient
}

func newConflicts(inv *Invoice) *conflicts {
	c := &conflicts{
		transfers: slices.Clone(inv.Transfers), transactions: map[string]*transaction{}, byOutpoint: map[string][]*transaction{},
		winners: map[string]*transaction{}, offsets: map[string]*big.Int{},
		amounts: map[txRecipient]*big.Int{}, presentAmounts: map[txRecipient]*big.Int{}, replacementAmounts: map[txRecipient]*big.Int{},
		inheritances: map[txRecipient][]inheritance{}, inheritedEarlier: map[txRecipient]map[string]*big.Int{},
	}
	slices.SortFunc(c.transfers, func(x, y Transfer) int { return cmp.Compare(x.ID, y.ID) })
	accepted := inv.acceptedIDs()
	for _, t := range c.transfers {
		c.add(t)
		if tx := c.transactions[t.Tx]; tx != nil && t.Presence == Present {
			m, known := inv.Method(t.Network, t.Asset)
			tx.accepted = tx.accepted || accepted[t.ID]
			tx.worthwhile = tx.worthwhile || !known || t.Amount.Cmp(m.Asset.Dust) >= 0
		}
	}
	for _, tx := range c.transactions {
		for _, o := range tx.spends {
			c.byOutpoint[o] = append(c.byOutpoint[o], tx)
		}
	}
	c.findReplaced()
	return c
}

// add adds a transfer to its transaction. A transfer without a transaction, such as the rise of a
// balance, conflicts with no other.
func (c *conflicts) add(t Transfer) {
	if t.Tx == "" {
		return
	}
	tx := c.transactions[t.Tx]
	if tx == nil {
		tx = &transaction{id: t.Tx, firstSeen: t.FirstSeen}
		c.transactions[t.Tx] = tx
	}
	if len(tx.spends) == 0 {
		tx.spends = t.Spends
	}
	if t.FirstSeen.Before(tx.firstSeen) {
		tx.firstSeen = t.FirstSeen
	}
	tx.present = tx.present || t.Presence == Present
	if t.Presence == Present {
		tx.amount.Add(&tx.amount, t.Amount.Minor())
		tx.unsure, tx.unfinal = tx.unsure || t.Unsure, tx.unfinal || !t.Final()
	}
	tx.confirmed = tx.confirmed || t.Presence == Present && t.Block != nil
	tx.transfers = append(tx.transfers, t)
	key := txRecipient{t.Tx, t.recipient()}
	sum := c.amounts[key]
	if sum == nil {
		sum = new(big.Int)
		c.amounts[key] = sum
	} else {
		c.offsets[t.ID] = new(big.Int).Set(sum)
	}
	sum.Add(sum, t.Amount.Minor())
	if t.Presence == Present {
		if c.presentAmounts[key] == nil {
			c.presentAmounts[key] = new(big.Int)
		}
		c.presentAmounts[key].Add(c.presentAmounts[key], t.Amount.Minor())
	}
}

// presentAmount returns the amount of a transaction's present transfers to a recipient.
func (c *conflicts) presentAmount(tx *transaction, to recipient) *big.Int {
	if sum := c.presentAmounts[txRecipient{tx.id, to}]; sum != nil {
		return sum
	}
	return new(big.Int)
}

// findReplaced sets winners, and sets replaced for the other present transactions that spend an outpoint
// of a winner. Of the transactions that spend the same outpoint at most one counts: a confirmed one before
// unconfirmed ones, then the one that was first seen last. Several can be confirmed only if they share a
// one-time key, of which the recipient can spend the output that it prefers; see chain.OneTimeOutpoint. One
// that the merchant accepted counts before others, then one that is not dust, a sure one, a final one, the one with the
// largest amount, and the one that was first seen first.
func (c *conflicts) findReplaced() {
	var order []*transaction
	for _, tx := range c.transactions {
		if tx.present {
			order = append(order, tx)
		}
	}
	slices.SortFunc(order, func(x, y *transaction) int {
		byRank := 0
		switch {
		case x.confirmed != y.confirmed:
			byRank = trueFirst(x.confirmed)
		case !x.confirmed:
		case x.accepted != y.accepted:
			byRank = trueFirst(x.accepted)
		case x.worthwhile != y.worthwhile:
			byRank = trueFirst(x.worthwhile)
		case x.unsure != y.unsure:
			byRank = trueFirst(y.unsure)
		case x.unfinal != y.unfinal:
			byRank = trueFirst(y.unfinal)
		default:
			byRank = cmp.Or(y.amount.Cmp(&x.amount), x.firstSeen.Compare(y.firstSeen))
		}
		return cmp.Or(byRank, y.firstSeen.Compare(x.firstSeen), cmp.Compare(x.id, y.id))
	})
	for _, tx := range order {
		tx.replaced = slices.ContainsFunc(tx.spends, func(o string) bool { return c.winners[o] != nil })
		if tx.replaced {
			continue
		}
		for _, o := range tx.spends {
			c.winners[o] = tx
		}
	}
}

// trueFirst returns the order of two different conditions of which the first is isFirst: true before false.
func trueFirst(isFirst bool) int {
	if isFirst {
		return -1
	}
	return 1
}

// replaced reports whether t's transaction is replaced.
func (c *conflicts) replaced(t Transfer) bool {
	tx := c.transactions[t.Tx]
	return tx != nil && tx.replaced
}

// competitors returns the other transactions that spend an outpoint of tx, each once.
func (c *conflicts) competitors(tx *transaction) []*transaction {
	return tx.competing(func(outpoint string) []*transaction { return c.byOutpoint[outpoint] })
}

// replacements returns the other transactions that count and spend an outpoint of tx, each once.
func (c *conflicts) replacements(tx *transaction) []*transaction {
	return tx.competing(func(outpoint string) []*transaction {
		if winner := c.winners[outpoint]; winner != nil {
			return []*transaction{winner}
		}
		return nil
	})
}

// competing returns the transactions that spending returns for the outpoints of t, each once and
// without t.
func (t *transaction) competing(spending func(outpoint string) []*transaction) []*transaction {
	var list []*transaction
	found := map[*transaction]bool{t: true}
	for _, o := range t.spends {
		for _, other := range spending(o) {
			if !found[other] {
				found[other] = true
				list = append(list, other)
			}
		}
	}
	return list
}

// replacedInFull reports whether the replacements of t's transaction together pay at least the amount
// of t to the same recipient.
func (c *conflicts) replacedInFull(t Transfer) bool {
	tx := c.transactions[t.Tx]
	if tx == nil || len(tx.spends) == 0 {
		return t.Amount.IsZero()
	}
	key := txRecipient{t.Tx, t.recipient()}
	sum := c.replacementAmounts[key]
	if sum == nil {
		sum = new(big.Int)
		for _, r := range c.replacements(tx) {
			sum.Add(sum, c.presentAmount(r, key.recipient))
		}
		c.replacementAmounts[key] = sum
	}
	return sum.Cmp(t.Amount.Minor()) >= 0
}

// inheritance is an amount that a replaced transaction paid to a recipient, with its first sighting.
type inheritance struct {
	firstSeen time.Time
	old       bool
	amount    *big.Int
}

// inherited returns what the transactions that tx replaced had paid to a recipient, earliest first.
func (c *conflicts) inherited(tx *transaction, to recipient) []inheritance {
	key := txRecipient{tx.id, to}
	if list, known := c.inheritances[key]; known {
		return list
	}
	var list []inheritance
	for _, replaced := range c.competitors(tx) {
		if replaced.counts() || !replaced.firstSeen.Before(tx.firstSeen) {
			continue
		}
		h := inheritance{firstSeen: replaced.firstSeen, amount: new(big.Int)}
		for _, t := range replaced.transfers {
			if t.recipient() == to && (replaced.replaced || t.Presence != Present) {
				h.old = h.old || t.Old
				h.amount.Add(h.amount, t.Amount.Minor())
			}
		}
		// If a transaction has several replacements, its amount is inherited only once.
		if earlier := c.inheritedBefore(replaced, to)[tx.id]; earlier != nil {
			h.amount.Sub(h.amount, earlier)
		}
		if h.amount.Sign() > 0 {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(x, y inheritance) int {
		return cmp.Or(x.firstSeen.Compare(y.firstSeen), x.amount.Cmp(y.amount))
	})
	c.inheritances[key] = list
	return list
}

// inheritedBefore returns, by the ID of each replacement of a transaction, the amount that earlier
// replacements pay to a recipient. Together they inherit at most this amount.
func (c *conflicts) inheritedBefore(replaced *transaction, to recipient) map[string]*big.Int {
	key := txRecipient{replaced.id, to}
	if earlier, known := c.inheritedEarlier[key]; known {
		return earlier
	}
	replacements := c.replacements(replaced)
	slices.SortFunc(replacements, func(x, y *transaction) int {
		return cmp.Or(x.firstSeen.Compare(y.firstSeen), cmp.Compare(x.id, y.id))
	})
	earlier, sum := map[string]*big.Int{}, new(big.Int)
	for _, r := range replacements {
		earlier[r.id] = new(big.Int).Set(sum)
		sum.Add(sum, c.presentAmount(r, to))
	}
	c.inheritedEarlier[key] = earlier
	return earlier
}

// allocations splits a transfer by first sighting. Unit n has the first sighting of the earliest replaced
// transaction that paid at least n units to the same recipient; if there is none, that of the transfer. A
// part that is inherited from a transfer older than the invoice is old as well.
func (c *conflicts) allocations(t Transfer) []allocation {
	whole := []allocation{{amount: t.Amount.Minor(), firstSeen: t.FirstSeen}}
	tx := c.transactions[t.Tx]
	if tx == nil {
		return whole
	}
	inherited := c.inherited(tx, t.recipient())
	if len(inherited) == 0 {
		return whole
	}
	// Outputs of one transaction to one recipient share the inheritance, in the order of their IDs.
	start := new(big.Int)
	if offset := c.offsets[t.ID]; offset != nil {
		start.Set(offset)
	}
	end := new(big.Int).Add(start, t.Amount.Minor())
	var parts []allocation
	for _, h := range append(slices.Clone(inherited), inheritance{firstSeen: t.FirstSeen, amount: end}) {
		upTo := h.amount
		if upTo.Cmp(end) > 0 {
			upTo = end
		}
		if upTo.Cmp(start) > 0 {
			parts = append(parts, allocation{amount: new(big.Int).Sub(upTo, start), firstSeen: h.firstSeen, old: h.old})
			start = upTo
		}
	}
	return parts
}
