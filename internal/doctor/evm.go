package doctor

import (
	"fmt"
	"time"

	"chequer/internal/format"
	"chequer/internal/networks"
)

// examineEVM reports the parts of the probed source of an EVM network. The subject of each finding
// begins with the given one.
func (e *examination) examineEVM(n networks.Network, subject string) {
	evm, isEVM := n.Network.(networks.EVM)
	if !isEVM {
		return
	}
	if !evm.Quorum.QueryableByAddress() {
		e.warn(subject+"native coin "+evm.Params().NativeCoin(), "is not offered, as only balances of addresses show it: %s", networks.Remedies(n.Setting))
	}
	if message := evm.Quorum.RedundancyWarning(); message != "" {
		e.warn(subject+"endpoints", "%s", message)
	}
	for _, r := range evm.Reports() {
		level, message := LevelOK, fmt.Sprintf("at block %s, answered in %s", format.Grouped(r.Height), r.Latency.Round(time.Millisecond))
		if r.Fault != "" {
			level, message = LevelWarn, r.Fault
		}
		if r.Trusted {
			message = "own node, " + message
		}
		e.add(level, subject+"endpoint "+r.Name, "%s", message)
	}
	for _, d := range evm.TokenFaults() {
		level, message := LevelWarn, d.Text
		if d.Wrong {
			level = LevelFail
		}
		if d.Unreadable {
			message += ": " + networks.Remedies(n.Setting)
		}
		e.add(level, subject+"token "+d.Asset, "%s", message)
	}
}
