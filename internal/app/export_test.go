package app

import (
	"log/slog"
	"time"

	"chequer/internal/chain"
	"chequer/internal/config"
)

// ExamineFiats lets tests give the doctor what the sources said.
var ExamineFiats = examineFiats

// EVMNetworks are the EVM networks that the settings name.
func EVMNetworks(c config.Config) ([]chain.Network, error) {
	all, err := evmNetworks(c, time.Now, slog.New(slog.DiscardHandler))
	return networksOf(all), err
}
