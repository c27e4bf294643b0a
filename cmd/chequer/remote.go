package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"chequer/internal/client"
)

// remote is a server that a command calls through its API.
type remote struct {
	*client.Client
	url    string
	secret string // of the key that signs the calls
}

// apiFlag adds the flag that names the server.
func apiFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "api", "", "address of the server (default CHEQUER_BASE_URL)")
}

// remote returns a client of the server at an address, or at CHEQUER_BASE_URL if the address is "".
func (s *shell) remote(address string) (remote, error) {
	cfg, err := s.load()
	if err != nil {
		return remote{}, err
	}
	if cfg.APIKey == "" {
		return remote{}, errors.New("CHEQUER_API_KEY and CHEQUER_API_SECRET are missing: they sign the requests to the server; chequer key add --test creates a pair")
	}
	if address == "" {
		address = cfg.BaseURL
	}
	cl, err := client.New(client.Config{BaseURL: address, Key: cfg.APIKey, Secret: cfg.APISecret})
	return remote{Client: cl, url: address, secret: cfg.APISecret}, err
}

// unreachable adds the address of the server, and the flag that changes it, to a connection error.
func (at remote) unreachable(err error) error {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("nothing answers at %s, --api names another server: %w", at.url, err)
	}
	return err
}
