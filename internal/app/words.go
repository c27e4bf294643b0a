package app

import "chequer/internal/chain"

// plural formats a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return chain.Grouped(int64(n)) + " " + thing + "s"
}
