// Command relay is a relay of Nostr for tests. It keeps events in memory.
package main

import (
	"fmt"
	"net/http"
	"os"

	"github.com/fiatjaf/eventstore/slicestore"
	"github.com/fiatjaf/khatru"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: relay HOST:PORT")
		os.Exit(2)
	}
	store := &slicestore.SliceStore{}
	if err := store.Init(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	relay := khatru.NewRelay()
	relay.StoreEvent = append(relay.StoreEvent, store.SaveEvent)
	relay.QueryEvents = append(relay.QueryEvents, store.QueryEvents)
	relay.DeleteEvent = append(relay.DeleteEvent, store.DeleteEvent)
	relay.ReplaceEvent = append(relay.ReplaceEvent, store.ReplaceEvent)
	fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], relay))
	os.Exit(1)
}
