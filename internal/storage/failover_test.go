package storage_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"chequer/internal/storage/storagetest"
)

// The URL names two servers. Writes go to the server that accepts them. Every creation that was confirmed
// is stored after the primary crashed, and after the roles were exchanged again.
func TestStorage_follows_the_primary_of_several_servers(t *testing.T) {
	t.Parallel()
	first := storagetest.NewServer(t)
	second := first.Standby(t)
	first.WaitForStandby(t)
	url := storagetest.URLOfServers(t, first, second)
	s := open(t, url)
	addMerchants(t, s)
	l := &load{t: t, s: s, faults: make(chan struct{}), creations: make(chan struct{}), created: map[string]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() { l.run(ctx, i) })
	}
	l.waitForCreations(20)

	first.Stop(t, "immediate")
	l.waitForFault()
	if err := s.Ready(t.Context()); err == nil {
		t.Error("storage is ready without a primary")
	}
	second.Promote(t)
	l.waitForCreations(20)
	await(t, "storage is ready after the promotion", func() bool { return s.Ready(t.Context()) == nil })

	first.Rejoin(t, second) // a standby that the URL names first
	second.WaitForStandby(t)
	rows(t, second.URL(), "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
	l.waitForCreations(20)
	second.Stop(t, "fast") // sends everything to the standby before it ends
	first.Promote(t)
	l.waitForCreations(20)
	stop()
	group.Wait()

	for id := range l.created {
		if _, err := s.Invoice(t.Context(), id); err != nil {
			t.Errorf("invoice %s was created and is missing: %v", id, err)
		}
	}
	if got := strings.Join(rows(t, first.URL(), "SELECT pg_is_in_recovery()::text"), ""); got != "false" {
		t.Errorf("the first server is in recovery: %s", got)
	}
	checkFeed(t, first.URL(), "shop")
}
