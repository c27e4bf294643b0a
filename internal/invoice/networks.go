package invoice

import (
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// Connections are the Lightning networks of live invoices, one for each connection of a merchant. They change while the
// program runs. They are safe for concurrent use.
type Connections interface {
	// Requester returns the network with an ID, which chain.LightningID returns.
	Requester(id chain.ID) (chain.Requester, bool)
	// Networks returns the IDs of all networks.
	Networks() []chain.ID
	// Asset returns the asset of all connections. Its network is not set.
	Asset() chain.Asset
	// AddressReader parses addresses of the asset of all connections, also of former ones.
	chain.AddressReader
}

// noConnections is a Connections without networks.
type noConnections struct{}

func (noConnections) Requester(chain.ID) (chain.Requester, bool) { return nil, false }
func (noConnections) Networks() []chain.ID                       { return nil }
func (noConnections) Asset() chain.Asset                         { return chain.Asset{} }
func (noConnections) ReadAddress(string, string) (chain.Destination, error) {
	return chain.Destination{}, keys.ErrKind
}

// networkAs returns the network with an ID, of invoices of any mode, that implements an interface.
func networkAs[T any](s *Service, id chain.ID) (T, bool) {
	for _, networks := range s.networks {
		for _, n := range networks {
			if found, ok := n.(T); ok && n.ID() == id {
				return found, true
			}
		}
	}
	if n, ok := s.connections.Requester(id); ok {
		found, ok := n.(T)
		return found, ok
	}
	var none T
	return none, false
}

// addressReader returns the parser of a network's addresses. It returns false if the network has none.
func (s *Service) addressReader(network chain.ID) (chain.AddressReader, bool) {
	if reader, ok := networkAs[chain.AddressReader](s, network); ok {
		return reader, true
	}
	return s.connections, network.IsLightning() // also of a former connection
}

// networksFor returns the networks of a mode on which some wallets have destinations, among others.
func (s *Service) networksFor(mode Mode, wallets []Wallet) []chain.Network {
	all := s.networks[mode]
	if mode != Live {
		return all
	}
	for _, w := range wallets {
		if w.Asset != chain.CodeLightning {
			continue
		}
		if n, ok := s.connections.Requester(chain.LightningID(w.Counter)); ok {
			all = append(slices.Clip(all), n)
		}
	}
	return all
}

// isScanned reports whether a network has a scanner.
func (s *Service) isScanned(network chain.ID) bool {
	if s.scanned[network] {
		return true
	}
	_, ok := s.connections.Requester(network)
	return ok
}

// isLive reports whether a network has a scanner and carries live invoices.
func (s *Service) isLive(network chain.ID) bool {
	if live, known := s.live[network]; known {
		return live
	}
	_, ok := s.connections.Requester(network)
	return ok
}

// Asset returns the asset of a network with the given code, whether or not an invoice offers it.
func (s *Service) Asset(network chain.ID, code string) (chain.Asset, bool) {
	for _, networks := range s.networks {
		for _, n := range networks {
			if n.ID() != network {
				continue
			}
			for _, a := range n.Assets() {
				if a.Code == code {
					return a, true
				}
			}
		}
	}
	if a := s.connections.Asset(); network.IsLightning() && a.Code == code { // also of a former connection
		a.Network = network
		return a, true
	}
	return chain.Asset{}, false
}

// BlockTime returns the usual time between two blocks of a network; 0 if it has none.
func (s *Service) BlockTime(network chain.ID) time.Duration {
	if n, ok := networkAs[chain.Timed](s, network); ok {
		return n.BlockTime()
	}
	return 0
}

// SeesMempool reports whether the source of a network is a node, whose mempool shows every unconfirmed transaction.
func (s *Service) SeesMempool(network chain.ID) bool {
	n, ok := networkAs[chain.Reporter](s, network)
	return ok && n.Health().Mempool
}

// KnownAsset returns the asset of a network with a code. It may be a bridged token, which is never
// offered as a payment method.
func (s *Service) KnownAsset(network chain.ID, code string) (chain.Asset, bool) {
	if a, offered := s.Asset(network, code); offered {
		return a, true
	}
	for _, a := range s.bridged[network] {
		if a.Code == code {
			return a, true
		}
	}
	return chain.Asset{}, false
}

// BridgedSymbols returns the symbols of the bridged tokens that shoppers may confuse with an asset.
func (s *Service) BridgedSymbols(asset chain.Asset) []string {
	symbols := []string{}
	for _, b := range s.bridged[asset.Network] {
		if b.BridgeOf == asset.Symbol {
			symbols = append(symbols, b.Symbol)
		}
	}
	return symbols
}
