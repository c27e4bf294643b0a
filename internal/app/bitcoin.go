package app

import (
	"errors"
	"log/slog"
	"time"

	"chequer/internal/chain/bitcoin"
	"chequer/internal/config"
)

func lightClient(c config.Config, network *bitcoin.Network, now func() time.Time, log *slog.Logger) (live, error) {
	return live{Network: network}, nil
}

func ownNode(s config.Chain, network *bitcoin.Network, now func() time.Time, log *slog.Logger) (live, error) {
	return live{}, errors.New("not yet")
}
