package plan

// Network is an EVM network on which Chequer sweeps.
type Network struct {
	ID      string // as in the settings
	Name    string
	ChainID uint64 // EIP-155
	Coin    string // symbol of its coin, which has 18 decimals
}

// CoinDecimals is the number of decimals of the coin of each network.
const CoinDecimals = 18

// networks are the networks of package chain/ethereum, which this package cannot import.
var networks = []Network{
	{"ethereum", "Ethereum", 1, "ETH"},
	{"base", "Base", 8453, "ETH"},
	{"arbitrum", "Arbitrum One", 42161, "ETH"},
	{"optimism", "OP Mainnet", 10, "ETH"},
	{"polygon", "Polygon PoS", 137, "POL"},
	{"gnosis", "Gnosis Chain", 100, "xDAI"},
	{"avalanche", "Avalanche C-Chain", 43114, "AVAX"},
	{"sepolia", "Sepolia", 11155111, "ETH"},
	{"base-sepolia", "Base Sepolia", 84532, "ETH"},
}

// NetworkByID returns the network with an ID, and whether there is one.
func NetworkByID(id string) (Network, bool) {
	for _, n := range networks {
		if n.ID == id {
			return n, true
		}
	}
	return Network{}, false
}
