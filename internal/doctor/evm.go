package doctor

import (
	"fmt"
	"time"

	"chequer/internal/chain"
	"chequer/internal/networks"
)

// examineEVM reports the parts of the probed source of an EVM network. The subject of each finding
// begins with about.
func (e *examination) examineEVM(n networks.Network, about string) {
	evm, isEVM := n.Network.(networks.EVM)
	if !isEVM {
		return
	}
	if !evm.Quorum.QueryableByAddress() {
		e.warn(about+"own coin "+evm.Params().OwnCoin(), "is not offered, as only balances of addresses show it: %s", networks.Remedies(n.Setting))
	}
	if says := evm.Quorum.Narrow(); says != "" {
		e.warn(about+"endpoints", "%s", says)
	}
	for _, r := range evm.Reports() {
		level, says := LevelOK, fmt.Sprintf("at block %s, answered in %s", chain.Grouped(r.Height), r.Latency.Round(time.Millisecond))
		if r.Fault != "" {
			level, says = LevelWarn, r.Fault
		}
		if r.Trusted {
			says = "own node, " + says
		}
		e.add(level, about+"endpoint "+r.Name, "%s", says)
	}
	for _, d := range evm.Doubts() {
		level, says := LevelWarn, d.Says
		if d.Wrong {
			level = LevelFail
		}
		if d.Unreadable {
			says += ": " + networks.Remedies(n.Setting)
		}
		e.add(level, about+"token "+d.Asset, "%s", says)
	}
}
