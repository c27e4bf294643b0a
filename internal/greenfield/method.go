package greenfield

import (
	"slices"
	"strings"

	"chequer/internal/chain"
	"chequer/internal/invoice"
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

// formerID returns the identifier of a payment method in version 1 of the API: BTC, BTC-LightningNetwork, EURC-BASE.
func formerID(a chain.Asset) string {
	if a.Requested() {
		return a.Symbol + "-LightningNetwork"
	}
	return a.Code
}

// aliases are endings of identifiers with the same meaning. Identifiers are compared in upper case, with "-" for "_".
var aliases = []struct{ ending, meaning string }{
	{"-ONCHAIN", "-CHAIN"},
	{"-LIGHTNINGNETWORK", "-LN"}, {"-LIGHTNINGLIKE", "-LN"}, {"-OFFCHAIN", "-LN"},
}

// codeOf returns the code of the payment method of a mode with an identifier in any of its spellings.
func (s *server) codeOf(mode invoice.Mode, id string) (code string, known bool) {
	id = strings.ReplaceAll(strings.ToUpper(strings.TrimSpace(id)), "_", "-")
	for _, a := range aliases {
		if before, found := strings.CutSuffix(id, a.ending); found {
			id = before + a.meaning
		}
	}
	codes := s.Invoices.MethodCodes(mode)
	i := slices.IndexFunc(codes, func(code string) bool {
		a, _ := s.Invoices.AssetByCode(mode, code)
		return methodID(a) == id || formerID(a) == id
	})
	if i < 0 {
		return "", false
	}
	return codes[i], true
}
