package quorum_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
)

// shop watches the fake chain through some nodes.
type shop struct {
	*testing.T
	fake    *fakeChain
	quorum  *quorum.Quorum
	scanner *ethereum.Scanner
	watch   chaintest.Watch
	from    chain.Cursor
}

// openShop watches through the given endpoints.
func openShop(t *testing.T, fake *fakeChain, endpoints []quorum.Endpoint, change ...func(*quorum.Config)) *shop {
	t.Helper()
	config := quorum.Config{ChainID: chainID, Tags: true, Endpoints: endpoints, Now: fake.Now, Chance: func() float64 { return 0.5 }, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&config)
	}
	q, err := quorum.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return &shop{
		T: t, fake: fake, quorum: q, scanner: ethereum.Watch(ethereum.New(params()), q, fake.Now), watch: chaintest.Watch{ourAddress: true},
	}
}

func endpoints(nodes ...*node) []quorum.Endpoint {
	var list []quorum.Endpoint
	for i, n := range nodes {
		list = append(list, quorum.Endpoint{URL: n.URL + "/v3/topsecretkey", Operator: string(rune('A' + i))})
	}
	return list
}

func (s *shop) scan() (chain.Snapshot, error) {
	snapshot, err := s.scanner.Scan(s.Context(), s.from, s.watch)
	if err != nil && strings.Contains(err.Error(), "topsecret") {
		s.Errorf("error contains a key: %v", err)
	}
	return snapshot, err
}

// want scans and compares the amounts of the transfers.
func (s *shop) want(amounts ...string) chain.Snapshot {
	s.Helper()
	snapshot, err := s.scan()
	if err != nil {
		s.Fatalf("scan: %v", err)
	}
	s.compare(snapshot, amounts)
	return snapshot
}

func (s *shop) compare(snapshot chain.Snapshot, amounts []string) {
	s.Helper()
	got := []string{}
	for _, t := range snapshot.Transfers {
		got = append(got, t.Amount.String())
	}
	slices.Sort(got)
	if diff := cmp.Diff(got, append([]string{}, amounts...)); diff != "" {
		s.Errorf("amounts (-got +want):\n%s", diff)
	}
}

// wantError scans and checks that the error contains words.
func (s *shop) wantError(words ...string) {
	s.Helper()
	_, err := s.scan()
	if err == nil {
		s.Fatal("no error")
	}
	for _, expected := range words {
		if !strings.Contains(err.Error(), expected) {
			s.Errorf("error %q does not contain %q", err, expected)
		}
	}
}
