//go:build never

// Package lightning requires lnd, which fetch.sh builds from this module.
package lightning

import _ "github.com/lightningnetwork/lnd/cmd/lnd"
