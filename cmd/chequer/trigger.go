package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/console"
)

// remote is a server that a command calls through its API.
type remote struct {
	*client.Client
	url    string
	secret string // of the key that signs the calls
}

// apiFlag adds the flag that names the server.
func apiFlag(c *cobra.Command, target *string) {
	c.Flags().StringVar(target, "api", "", "address of the server (default CHEQUER_BASE_URL)")
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
func (server remote) unreachable(err error) error {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("nothing answers at %s, --api names another server: %w", server.url, err)
	}
	return err
}

// triggerAmount is the price of a new test invoice, in euro.
const triggerAmount = "12.50"

// requiredActions are the actions that must come first on a new invoice.
var requiredActions = map[string][]string{
	api.SimulateConfirm:    {api.SimulateExact},
	api.SimulateReplace:    {api.SimulateExact},
	api.SimulateReorganise: {api.SimulateExact, api.SimulateConfirm},
}

// trigger returns the command that simulates an action on a test invoice.
func (s *shell) trigger() *cobra.Command {
	var address, id string
	request := api.SimulateRequest{Seconds: 3600}
	c := &cobra.Command{
		Use:   "trigger " + strings.Join(api.SimulateActions, "|"),
		Short: "Simulate an action of the shopper or the network on a test invoice",
		Long: "Simulates an action on a test invoice through the API of a server. CHEQUER_API_KEY and CHEQUER_API_SECRET must be\n" +
			"a test key with all scopes. Without --invoice it creates an invoice of " + triggerAmount + " EUR, and first simulates the\n" +
			"actions that must precede.\n\n" +
			"  exact, under, over   the amount arrives, too little, too much\n  late                 the price is no longer held, then the amount arrives\n" +
			"  confirm              the next block\n  replace              an unconfirmed transaction is spent elsewhere\n" +
			"  reorganise           a block is undone\n  clock                the clock of the invoice advances by --seconds",
		Args: console.Arguments,
		RunE: func(c *cobra.Command, args []string) error {
			request.Action = args[0]
			if !slices.Contains(api.SimulateActions, request.Action) {
				return fmt.Errorf("there is no %q; there are %s", request.Action, strings.Join(api.SimulateActions, ", "))
			}
			if request.Action != api.SimulateClock {
				request.Seconds = 0
			}
			server, err := s.remote(address)
			if err != nil {
				return err
			}
			snapshot, err := server.trigger(c.Context(), id, request)
			if err != nil {
				return server.unreachable(err)
			}
			return s.printTriggered(c, server, snapshot.Resource)
		},
	}
	apiFlag(c, &address)
	c.Flags().StringVar(&id, "invoice", "", "the invoice (default a new one)")
	c.Flags().StringVar(&request.PaymentMethod, "method", "", "payment method, such as EURC-BASE (default the first)")
	c.Flags().Int64Var(&request.Seconds, "seconds", request.Seconds, "seconds by which the action clock advances the clock")
	return c
}

// trigger simulates an action on an invoice; "" creates a new invoice.
func (server remote) trigger(ctx context.Context, id string, request api.SimulateRequest) (client.Snapshot, error) {
	actions := []string{request.Action}
	if id == "" {
		var err error
		if id, err = server.createInvoice(ctx); err != nil {
			return client.Snapshot{}, err
		}
		actions = append(slices.Clone(requiredActions[request.Action]), request.Action)
	}
	for _, action := range actions {
		step := request
		step.Action = action
		if err := server.simulate(ctx, id, step, len(actions) > 1); err != nil {
			return client.Snapshot{}, fmt.Errorf("%s of invoice %s: %w", action, id, err)
		}
	}
	return server.Invoice(ctx, id)
}

// triggerTimeout bounds the time until the server has observed an action.
const triggerTimeout = 10 * time.Second

// simulate simulates one action. If the action follows another, it is repeated until the server has
// observed the first.
func (server remote) simulate(ctx context.Context, id string, r api.SimulateRequest, follows bool) error {
	timeout := time.After(triggerTimeout)
	for {
		err := server.Simulate(ctx, id, r)
		response, ok := errors.AsType[*client.Error](err)
		if !follows || !ok || response.Code != "nothing_to_do" {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-timeout:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// createInvoice creates a test invoice. It refuses live keys, because their invoices are for real money.
func (server remote) createInvoice(ctx context.Context) (id string, err error) {
	page, err := server.Events(ctx, client.FromNow, 0)
	if err != nil {
		return "", err
	}
	if page.Mode != "test" {
		return "", errors.New("CHEQUER_API_KEY is a live key: chequer key add --test creates a test key")
	}
	return server.CreateInvoice(ctx, api.InvoiceRequest{Amount: triggerAmount, FiatCurrency: "EUR"}, "")
}

func (s *shell) printTriggered(c *cobra.Command, server remote, r api.Resource) error {
	page := strings.TrimRight(server.url, "/") + "/invoice/" + r.ForeignID
	result := struct {
		ForeignID  string   `json:"foreign_id"`
		Page       string   `json:"page"`
		Status     string   `json:"status"`
		Exceptions []string `json:"exceptions"`
	}{r.ForeignID, page, r.Status, r.Exceptions}
	return s.Print(c, result, func(w io.Writer) {
		fmt.Fprintf(w, "invoice  %s\npage     %s\nstatus   %s\n", r.ForeignID, page, s.Colours(w).Success(statusText(r)))
	})
}
