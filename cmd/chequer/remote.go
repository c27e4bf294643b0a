package main

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/console"
	"chequer/internal/merchant"
	"chequer/internal/webhook"
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

// explainUnreachable adds the address of the server, and the flag that changes it, to a connection error. It
// returns other errors unchanged.
func (server remote) explainUnreachable(err error) error {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("nothing answers at %s, --api names another server: %w", server.url, err)
	}
	return err
}

const (
	// listenWait is the time that the server may wait for the next event before it answers.
	listenWait = 30 * time.Second
	// listenRetryDelay is the pause before the next request when the server does not answer.
	listenRetryDelay = 2 * time.Second
)

// listen returns the command that forwards events to a receiver on this machine.
func (s *shell) listen() *cobra.Command {
	var address, forward string
	var types []string
	after := client.FromNow
	c := &cobra.Command{
		Use:   "listen --forward URL",
		Short: "Forward events to a receiver on this machine, signed as deliveries are",
		Long: "Follows the events of a server over its API and posts each event once to a receiver, with the same bytes\n" +
			"and headers as a delivery. CHEQUER_API_KEY and CHEQUER_API_SECRET sign the requests to the server: the key\n" +
			"needs the scope read, and sees the events of its mode. The endpoints of the merchant are not used or changed.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if u, err := url.Parse(forward); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
				return errors.New("--forward must be an address such as http://127.0.0.1:3000/hook")
			}
			if err := checkEventTypes(types); err != nil {
				return err
			}
			from, err := s.remote(address)
			if err != nil {
				return err
			}
			l := &listener{
				from: from, to: merchant.Endpoint{URL: forward, Events: types},
				output: c.OutOrStdout(), colours: s.Colours(c.OutOrStdout()), json: s.JSON,
			}
			l.to.Key, l.to.Secret = forwardingPair(from.secret)
			return from.explainUnreachable(l.run(c.Context(), after))
		},
	}
	apiFlag(c, &address)
	c.Flags().StringVar(&forward, "forward", "", "address of the receiver")
	c.Flags().StringSliceVar(&types, "events", nil, "only events of these types")
	c.Flags().Int64Var(&after, "after", after, "begin after this position of the feed; 0 means from the oldest event kept")
	c.Flags().Lookup("after").DefValue = "now"
	_ = c.MarkFlagRequired("forward")
	return c
}

// forwardingPair returns the key pair that signs forwarded events. It is derived from the API key, so
// that the receiver has to be configured only once.
func forwardingPair(apiSecret string) (key, secret string) {
	derive := func(purpose string, length int) string {
		mac := hmac.New(sha256.New, []byte(apiSecret))
		mac.Write([]byte("chequer-listen-v1\n" + purpose))
		return hex.EncodeToString(mac.Sum(nil))[:length]
	}
	return derive("key", 32), derive("secret", 40)
}

// listener forwards the events of a server to a receiver.
type listener struct {
	from    remote
	to      merchant.Endpoint
	output  io.Writer
	colours console.Colours
	json    bool
}

// run forwards every event after a position until the context ends, and then returns nil. If the
// server stops answering, it retries until the server answers again.
func (l *listener) run(ctx context.Context, after int64) error {
	page, err := l.from.Events(ctx, after, 0)
	if err != nil {
		return err
	}
	l.printHeader(page.Mode)
	waiting := false
	for ctx.Err() == nil {
		for _, body := range page.Events {
			l.forward(ctx, body)
		}
		after = page.Next
		if page, err = l.from.Events(ctx, after, listenWait); err == nil {
			waiting = false
			continue
		}
		if response, ok := errors.AsType[*client.Error](err); ok && response.Status < 500 && response.Status != http.StatusTooManyRequests {
			return err
		}
		if !waiting && ctx.Err() == nil && !l.json {
			fmt.Fprintln(l.output, l.colours.Failure("waiting for the server:"), console.Printable(err.Error()))
		}
		page, waiting = api.EventPage{Next: after}, true
		select {
		case <-ctx.Done():
		case <-time.After(listenRetryDelay):
		}
	}
	return nil
}

// printHeader prints the addresses of the server and the receiver, and the key pair.
func (l *listener) printHeader(mode string) {
	if l.json {
		return
	}
	fmt.Fprintf(l.output, "Events of %s (%s) go to %s\n\nkey     %s\nsecret  %s\n\n%s\n\n", l.from.url, console.Printable(mode), l.to.URL, l.to.Key, l.to.Secret,
		l.colours.Secondary("This key pair signs the forwarded events. It stays the same for this API key. Ctrl-C stops."))
}

// forwarded is a forwarded event and its result.
type forwarded struct {
	At         string `json:"at"`
	Event      string `json:"event_id"`
	Type       string `json:"type"`
	Invoice    string `json:"foreign_id"`
	Wallet     string `json:"wallet,omitempty"`
	Status     int    `json:"status"`
	Fault      string `json:"fault"`
	DurationMS int64  `json:"duration_ms"`
}

// forward posts an event to the receiver if the receiver wants its type, and prints the result.
func (l *listener) forward(ctx context.Context, body []byte) {
	var e api.Event
	if err := json.Unmarshal(body, &e); err != nil || !l.to.Wants(e.Type) {
		return
	}
	attempt := webhook.Forward(ctx, l.to, e.ID, body, time.Now)
	if ctx.Err() != nil {
		return // the command was stopped; the receiver is not at fault
	}
	f := forwarded{
		At: console.Stamp(attempt.At), Event: console.Printable(e.ID), Type: console.Printable(e.Type), Invoice: console.Printable(e.ForeignID), Wallet: console.Printable(e.Wallet.ID),
		Status: attempt.Status, Fault: console.Printable(attempt.Fault), DurationMS: attempt.Duration.Milliseconds(),
	}
	if l.json {
		_ = console.WriteJSON(l.output, f, "")
		return
	}
	outcome := l.colours.Success(result(f.Status, f.Fault))
	if !attempt.Accepted() {
		outcome = l.colours.Failure(result(f.Status, f.Fault))
	}
	fmt.Fprintf(l.output, "%s  %-18s  %s  %s  %d ms\n", l.colours.Secondary(attempt.At.Format(time.TimeOnly)), f.Type, cmp.Or(f.Invoice, f.Wallet), outcome, f.DurationMS)
}

// triggerAmount is the price of a new test invoice, in euro.
const triggerAmount = "12.50"

// requiredActions are the actions that must come first on a new invoice.
var requiredActions = map[string][]string{
	api.SimulateConfirm:    {api.SimulateExact},
	api.SimulateReplace:    {api.SimulateExact},
	api.SimulateReorganise: {api.SimulateExact, api.SimulateConfirm},
}

// refusedActions are the actions that do not apply to a payment method, with the reason.
var refusedActions = map[string]map[string]string{
	api.MethodLightning: {
		api.SimulateUnder:      "a payment request is paid whole or not at all",
		api.SimulateConfirm:    finalAtOnce,
		api.SimulateReplace:    finalAtOnce,
		api.SimulateReorganise: finalAtOnce,
	},
}

const finalAtOnce = "its payments are final at once"

// checkAction returns an error if an action does not apply to a payment method.
func checkAction(r api.SimulateRequest) error {
	if reason, refused := refusedActions[r.PaymentMethod][r.Action]; refused {
		return fmt.Errorf("%s does not apply to %s: %s", r.Action, r.PaymentMethod, reason)
	}
	return nil
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
			"  reorganise           a block is undone\n  clock                the clock of the invoice advances by --seconds\n\n" +
			"With --method BTC-LN, the actions under, confirm, replace and reorganise do not apply: a payment request is paid whole\n" +
			"or not at all, and its payment is final at once.",
		Args: console.Arguments,
		RunE: func(c *cobra.Command, args []string) error {
			request.Action = args[0]
			if !slices.Contains(api.SimulateActions, request.Action) {
				return fmt.Errorf("there is no %q; there are %s", request.Action, strings.Join(api.SimulateActions, ", "))
			}
			if request.Action != api.SimulateClock {
				request.Seconds = 0
			}
			request.PaymentMethod = strings.ToUpper(request.PaymentMethod)
			if err := checkAction(request); err != nil {
				return err
			}
			server, err := s.remote(address)
			if err != nil {
				return err
			}
			snapshot, err := server.trigger(c.Context(), id, request)
			if err != nil {
				return server.explainUnreachable(err)
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

const (
	// triggerTimeout bounds the time until the server has observed an action.
	triggerTimeout = 10 * time.Second
	// triggerRetryDelay is the pause before an action is tried again.
	triggerRetryDelay = 200 * time.Millisecond
)

// simulate simulates one action. If follows is true, the action needs the result of an earlier action, and is
// tried again until the server has observed that result.
func (server remote) simulate(ctx context.Context, id string, r api.SimulateRequest, follows bool) error {
	timeout := time.After(triggerTimeout)
	for {
		err := server.Simulate(ctx, id, r)
		response, ok := errors.AsType[*client.Error](err)
		if !follows || !ok || response.Code != "nothing_to_do" {
			return err
		}
		select {
		case <-time.After(triggerRetryDelay):
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
