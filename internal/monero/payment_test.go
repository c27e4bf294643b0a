package monero

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"filippo.io/edwards25519"
	gocmp "github.com/google/go-cmp/cmp"
)

// lookupOf returns a lookup of the subaddresses of a wallet from 0 to n.
func lookupOf(w *Wallet, n uint32) func(PublicKey) (uint32, bool) {
	indexes := map[PublicKey]uint32{}
	for i := range n + 1 {
		indexes[w.SpendKey(i)] = i
	}
	return func(k PublicKey) (uint32, bool) {
		i, ok := indexes[k]
		return i, ok
	}
}

// received has the parts of a payment that wallets show.
type received struct {
	Index  uint32
	Amount uint64
}

// The transactions in testdata/transactions.json are those of tests/test_outputs.py of monero-python, and some of regtest with the
// payments that monero-wallet-rpc 0.18.0.0 shows.
func TestPayments_of_wallets(t *testing.T) {
	t.Parallel()
	var list []struct {
		Name, ID, Address, ViewKey string
		Payments                   []received
		Transaction                json.RawMessage
	}
	readJSON(t, "testdata/transactions.json", &list)
	if len(list) < 18 {
		t.Errorf("%d transactions", len(list))
	}
	for _, tt := range list {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			w := wallet(t, tt.Address, tt.ViewKey)
			parsed, err := ParseTransaction(tt.Transaction)
			if err != nil {
				t.Fatal(err)
			}
			got := []received{}
			last := -1
			for _, p := range w.Payments(parsed, lookupOf(w, 300)) {
				got = append(got, received{p.Index, p.Amount})
				if p.Output <= last || parsed.Outputs[p.Output].Key != p.Key || w.SpendKey(p.Index) != p.SpendKey {
					t.Errorf("payment %+v after output %d", p, last)
				}
				last = p.Output
			}
			order := func(a, b received) int { return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Amount, b.Amount)) }
			slices.SortFunc(got, order)
			slices.SortFunc(tt.Payments, order)
			if diff := gocmp.Diff(tt.Payments, got); diff != "" {
				t.Errorf("payments of %s (-want +got):\n%s", tt.ID, diff)
			}
		})
	}
}

// sender builds the outputs of a transaction as a paying wallet does. See Zero to Monero 2.0, sections 4.2 to 4.4 and 5.3.
type sender struct {
	random      *rand.Rand
	transaction Transaction
	keys        []PublicKey // with tag 1
	additional  []PublicKey // with tag 4
}

func newSender(seed uint64) *sender {
	return &sender{random: rand.New(rand.NewPCG(seed, 0)), transaction: Transaction{encrypted: true}}
}

// scalar returns a random scalar.
func (s *sender) scalar() *edwards25519.Scalar {
	return hashToScalar(binary.LittleEndian.AppendUint64(nil, s.random.Uint64()))
}

// key returns the key of a transaction that pays one address: r·G, or r·D if it is a subaddress.
func (s *sender) key(r *edwards25519.Scalar, to Address) PublicKey {
	p, ok := to.SpendKey.point()
	if !ok {
		panic("not a point")
	}
	if to.Kind == Subaddress {
		return PublicKey(p.ScalarMult(r, p).Bytes())
	}
	return PublicKey(p.ScalarBaseMult(r).Bytes())
}

// pay adds an output of an amount with the secret r of a key of the transaction.
func (s *sender) pay(r *edwards25519.Scalar, to Address, amount uint64) *Output {
	i := len(s.transaction.Outputs)
	d, ok := derive(to.ViewKey, r)
	if !ok {
		panic("not a point")
	}
	secret := d.scalar(i)
	spend, _ := to.SpendKey.point()
	p := new(edwards25519.Point).ScalarBaseMult(secret)
	o := Output{Key: PublicKey(p.Add(p, spend).Bytes()), viewTag: d.viewTag(i), hasViewTag: true}
	pad := keccak256([]byte("amount"), secret.Bytes())
	binary.LittleEndian.PutUint64(o.masked[:], amount^binary.LittleEndian.Uint64(pad[:]))
	o.commitment = commit(amount, hashToScalar([]byte("commitment_mask"), secret.Bytes()))
	s.transaction.Outputs = append(s.transaction.Outputs, o)
	return &s.transaction.Outputs[i]
}

// finish returns the transaction with its extra.
func (s *sender) finish() *Transaction {
	var extra []byte
	for _, key := range s.keys {
		extra = append(append(extra, tagKey), key[:]...)
	}
	if s.additional != nil {
		extra = binary.AppendUvarint(append(extra, tagAdditionalKeys), uint64(len(s.additional)))
		for _, key := range s.additional {
			extra = append(extra, key[:]...)
		}
	}
	s.transaction.Extra = extra
	return &s.transaction
}

// amounts returns the amounts of payments by their outputs, of which none may be there twice.
func amounts(t testing.TB, payments []Payment) map[int]received {
	t.Helper()
	found := map[int]received{}
	for _, p := range payments {
		if _, twice := found[p.Output]; twice {
			t.Errorf("output %d is there twice", p.Output)
		}
		found[p.Output] = received{p.Index, p.Amount}
	}
	return found
}

func TestPayments_of_random_transactions(t *testing.T) {
	t.Parallel()
	w, other := wallet(t, primaryText, viewKeyText), otherWallet(t)
	lookup := lookupOf(w, 100)
	for seed := range uint64(60) {
		s := newSender(seed)
		want := map[int]received{}
		for i := range 1 + s.random.IntN(16) {
			index, amount := s.random.Uint32N(100), s.random.Uint64()>>s.random.IntN(64)
			to := w
			if s.random.IntN(3) == 0 {
				to = other
			} else {
				want[i] = received{index, amount}
			}
			r := s.scalar()
			s.additional = append(s.additional, s.key(r, to.Subaddress(index)))
			s.pay(r, to.Subaddress(index), amount)
		}
		s.keys = []PublicKey{s.key(s.scalar(), w.Address())}
		if diff := gocmp.Diff(want, amounts(t, w.Payments(s.finish(), lookup))); diff != "" {
			t.Errorf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// otherWallet returns a wallet of stagenet. See testdata/subaddresses.json.
func otherWallet(t testing.TB) *Wallet {
	t.Helper()
	return wallet(t, "56eDKfprZtQGfB4y6gVLZx5naKVHw6KEKLDoq2WWtLng9ANuBvsw67wfqyhQECoLmjQN4cKAdvMp2WsC5fnw9seKLcCSfjj", "e507923516f52389eae889b6edc182ada82bb9354fb405abedbe0772a15aea0a")
}

func TestPayments_rules(t *testing.T) {
	t.Parallel()
	w := wallet(t, primaryText, viewKeyText)
	invalid := PublicKey{2}
	const amount = 1_234_567
	paid := map[int]received{0: {7, amount}}
	for name, tt := range map[string]struct {
		change func(s *sender, r *edwards25519.Scalar, key PublicKey, o *Output)
		want   map[int]received
	}{
		"unchanged":                {func(*sender, *edwards25519.Scalar, PublicKey, *Output) {}, paid},
		"another_view_tag":         {func(_ *sender, _ *edwards25519.Scalar, _ PublicKey, o *Output) { o.viewTag++ }, nil},
		"no_view_tag":              {func(_ *sender, _ *edwards25519.Scalar, _ PublicKey, o *Output) { o.hasViewTag = false; o.viewTag++ }, paid},
		"another_encrypted_amount": {func(_ *sender, _ *edwards25519.Scalar, _ PublicKey, o *Output) { o.masked[7] ^= 1 }, nil},
		"another_commitment":       {func(_ *sender, _ *edwards25519.Scalar, _ PublicKey, o *Output) { o.commitment[0] ^= 1 }, nil},
		"an_invalid_one_time_key":  {func(_ *sender, _ *edwards25519.Scalar, _ PublicKey, o *Output) { o.hasViewTag = false; o.Key = invalid }, nil},
		"no_key":                   {func(s *sender, _ *edwards25519.Scalar, _ PublicKey, _ *Output) { s.keys = nil }, nil},
		"an_invalid_key":           {func(s *sender, _ *edwards25519.Scalar, _ PublicKey, _ *Output) { s.keys = []PublicKey{invalid} }, nil},
		"a_second_key_fits": {func(s *sender, r *edwards25519.Scalar, key PublicKey, _ *Output) {
			s.keys = []PublicKey{s.key(s.scalar(), w.Address()), key}
		}, paid},
		"a_key_after_an_invalid": {func(s *sender, _ *edwards25519.Scalar, key PublicKey, _ *Output) { s.keys = []PublicKey{invalid, key} }, paid},
		"a_key_twice_pays_once": {func(s *sender, _ *edwards25519.Scalar, key PublicKey, _ *Output) {
			s.keys = []PublicKey{key, key}
			s.additional = []PublicKey{key}
		}, paid},
		"an_additional_key": {func(s *sender, _ *edwards25519.Scalar, key PublicKey, _ *Output) {
			s.keys, s.additional = []PublicKey{invalid}, []PublicKey{key}
		}, paid},
		"additional_without_a_key": {func(s *sender, _ *edwards25519.Scalar, key PublicKey, _ *Output) {
			s.keys, s.additional = nil, []PublicKey{key}
		}, nil},
		"additional_of_another": {func(s *sender, _ *edwards25519.Scalar, key PublicKey, _ *Output) {
			s.keys, s.additional = []PublicKey{invalid}, []PublicKey{invalid, key}
		}, nil},
		"additional_after_an_error": {func(s *sender, _ *edwards25519.Scalar, key PublicKey, _ *Output) {
			s.keys, s.additional = []PublicKey{key}, []PublicKey{invalid}
		}, paid},
		"a_plain_amount": {func(s *sender, _ *edwards25519.Scalar, _ PublicKey, o *Output) {
			s.transaction.encrypted = false
			o.amount = 99
		}, map[int]received{0: {7, 99}}},
		"a_plain_amount_with_a_key_twice": {func(s *sender, _ *edwards25519.Scalar, key PublicKey, o *Output) {
			s.transaction.encrypted = false
			o.amount = 99
			s.keys, s.additional = []PublicKey{key, key}, []PublicKey{key}
		}, map[int]received{0: {7, 99}}},
	} {
		s := newSender(1)
		r := s.scalar()
		to := w.Subaddress(7)
		key := s.key(r, to)
		s.keys = []PublicKey{key}
		tt.change(s, r, key, s.pay(r, to, amount))
		got := amounts(t, w.Payments(s.finish(), lookupOf(w, 10)))
		if tt.want == nil {
			tt.want = map[int]received{}
		}
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A plain amount proves nothing, so every subaddress that fits is there.
func TestPayments_of_a_plain_amount_with_several_keys(t *testing.T) {
	t.Parallel()
	w := wallet(t, primaryText, viewKeyText)
	s := newSender(1)
	r, to := s.scalar(), w.Subaddress(7)
	s.keys = []PublicKey{s.key(s.scalar(), w.Address()), s.key(r, to)}
	s.additional = []PublicKey{s.key(s.scalar(), w.Address())}
	o := s.pay(r, to, 0)
	o.amount, o.hasViewTag = 99, false
	s.transaction.encrypted = false
	var found []PublicKey
	for _, p := range w.Payments(s.finish(), func(PublicKey) (uint32, bool) { return 0, true }) {
		if p.Output != 0 || p.Amount != 99 {
			t.Errorf("payment %+v", p)
		}
		found = append(found, p.SpendKey)
	}
	if len(found) != 3 || found[1] != to.SpendKey {
		t.Errorf("spend keys %v, want three with %s as the second", found, to.SpendKey)
	}
}

func TestPayments_of_the_largest_amount(t *testing.T) {
	t.Parallel()
	w := wallet(t, primaryText, viewKeyText)
	for _, amount := range []uint64{0, 1, math.MaxUint64} {
		s := newSender(amount)
		r := s.scalar()
		s.keys = []PublicKey{s.key(r, w.Address())}
		s.pay(r, w.Address(), amount)
		if diff := gocmp.Diff(map[int]received{0: {0, amount}}, amounts(t, w.Payments(s.finish(), lookupOf(w, 0)))); diff != "" {
			t.Errorf("amount %d (-want +got):\n%s", amount, diff)
		}
	}
}

// BenchmarkPayments searches a transaction with one key and 4 outputs for payments to 10,000 subaddresses.
func BenchmarkPayments(b *testing.B) {
	w, other := wallet(b, primaryText, viewKeyText), otherWallet(b)
	lookup := lookupOf(w, 10_000)
	for name, to := range map[string]*Wallet{"another_wallet": other, "one_payment": w} {
		s := newSender(1)
		r := s.scalar()
		s.keys = []PublicKey{s.key(r, to.Address())}
		for i := range 4 {
			if i == 3 {
				s.pay(r, to.Address(), 1)
			} else {
				s.pay(r, other.Address(), 1)
			}
		}
		t := s.finish()
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w.Payments(t, lookup)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "keys/s")
		})
	}
}

func BenchmarkSpendKey(b *testing.B) {
	w := wallet(b, primaryText, viewKeyText)
	for b.Loop() {
		w.SpendKey(5)
	}
}
