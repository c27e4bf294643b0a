package light

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/btcsuite/btcd/addrmgr"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/btcsuite/btcd/peer"
	"github.com/btcsuite/btcd/wire"
)

// addressBook stores addresses of peers that the merchant did not name: from the network's DNS seeds
// and from other peers. It saves them in a folder. A nil addressBook is empty.
type addressBook struct {
	params  *chaincfg.Params
	manager *addrmgr.AddrManager

	mu       sync.Mutex
	seededAt time.Time // time of the last request to the DNS seeds
}

const (
	// maxPicks is the number of addresses that next examines in one call.
	maxPicks = 100
	// retryInterval is the time after an attempt to connect to an address during which next does not return it.
	retryInterval = 10 * time.Minute
	// seedInterval is the least time between two requests to the DNS seeds.
	seedInterval = 5 * time.Minute
)

func newAddressBook(dir string, params *chaincfg.Params) *addressBook {
	return &addressBook{params: params, manager: addrmgr.New(dir, func(string) ([]net.IP, error) { return nil, nil })}
}

// next returns an address to connect to, of a group that could be reserved.
func (b *addressBook) next(reserve func(group) bool) (*wire.NetAddressV2, bool) {
	for range maxPicks {
		known := b.manager.GetAddress()
		if known == nil {
			return nil, false
		}
		na := known.NetAddress()
		if na.IsTorV3() || known.Services()&requiredServices != requiredServices || time.Since(known.LastAttempt()) < retryInterval {
			continue
		}
		if reserve(groupOfNA(na)) {
			b.manager.Attempt(na)
			return na, true
		}
	}
	return nil, false
}

// add adds addresses from a peer.
func (b *addressBook) add(from *peer.Peer, addresses ...*wire.NetAddressV2) {
	if b == nil {
		return
	}
	var useful []*wire.NetAddressV2
	for _, na := range addresses {
		if na.Services&requiredServices != requiredServices || na.IsTorV3() {
			continue
		}
		if na.Timestamp.After(time.Now().Add(10 * time.Minute)) { // an invalid time, replaced as in Bitcoin Core
			na.Timestamp = time.Now().Add(-5 * 24 * time.Hour)
		}
		useful = append(useful, na)
	}
	if len(useful) > 0 {
		b.manager.AddAddresses(useful, from.NA())
	}
}

// markGood records a successful connection to a peer.
func (b *addressBook) markGood(na *wire.NetAddressV2) {
	b.manager.Connected(na)
	b.manager.Good(na)
}

func (b *addressBook) needsAddresses() bool { return b != nil && b.manager.NeedMoreAddresses() }

// askSeeds asks the DNS seeds, at most once in seedInterval.
func (b *addressBook) askSeeds(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.seededAt) < seedInterval {
		return
	}
	b.seededAt = time.Now()
	port, err := strconv.ParseUint(b.params.DefaultPort, 10, 16)
	if err != nil {
		return
	}
	var wg sync.WaitGroup
	for _, s := range b.params.DNSSeeds {
		host := s.Host
		if s.HasFiltering { // the seed returns only nodes with the services in the name
			host = "x" + strconv.FormatUint(uint64(requiredServices), 16) + "." + host
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
			if err != nil {
				return
			}
			var addresses []*wire.NetAddressV2
			for _, ip := range found {
				age := time.Duration(3*24+rand.IntN(4*24)) * time.Hour // 3 to 7 days, as in Bitcoin Core
				addresses = append(addresses, wire.NetAddressV2FromBytes(time.Now().Add(-age), requiredServices, ip.Unmap().AsSlice(), uint16(port)))
			}
			if len(addresses) > 0 {
				b.manager.AddAddresses(addresses, addresses[0])
			}
		})
	}
	wg.Wait()
}

// dialAddress returns an address in the form that is dialled.
func dialAddress(na *wire.NetAddressV2) string { return addrmgr.NetAddressKey(na) }

// groupOfNA returns the group of an address of the book.
func groupOfNA(na *wire.NetAddressV2) group {
	ip, err := netip.ParseAddr(na.Addr.String())
	if err != nil {
		return 0
	}
	return groupOf(ip)
}
