package greenfield

import (
	"strings"

	"chequer/internal/chain"
)

// methodID returns the identifier of a payment method in version 2 of the API: BTC-CHAIN, EURC-BASE, USDC-ETHEREUM.
func methodID(a chain.Asset) string {
	switch {
	case strings.Contains(a.Code, "-"):
		return a.Code
	case a.Contract != "":
		return a.Code + "-ETHEREUM"
	}
	return a.Code + "-CHAIN"
}

// formerID returns the identifier of a payment method in version 1 of the API: BTC, EURC-BASE.
func formerID(a chain.Asset) string { return a.Code }
