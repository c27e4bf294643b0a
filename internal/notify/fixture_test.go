package notify_test

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/clocktest"
	"chequer/internal/guard"
	"chequer/internal/invoice"
	"chequer/internal/locale"
	"chequer/internal/logtest"
	"chequer/internal/money"
	"chequer/internal/notify"
	"chequer/internal/notify/smtptest"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

const email = "maren@nord.example"

// fixture is an owner of the shops "shop" and "bakery" with a worker on real storage.
type fixture struct {
	t       *testing.T
	url     string
	storage *storage.Storage
	clock   *clocktest.Clock
	mail    *smtptest.Server
	service *notify.Service
	worker  *notify.Worker
	owner   account.Account
	faults  []notify.Fault
	log     *logtest.Journal
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	storagetest.OnBoth(t, func(t *testing.T, s *storage.Storage, url string) { test(t, newFixture(t, s, url)) })
}

func newFixture(t *testing.T, s *storage.Storage, url string) *fixture {
	t.Helper()
	f := &fixture{t: t, url: url, storage: s, clock: clocktest.New(storagetest.Noon), mail: smtptest.New(t), log: &logtest.Journal{}}
	f.mail.User, f.mail.Password = "shop@nord.example", "pass"
	f.mail.Start()
	f.owner = f.join("Maren", map[string]account.Role{"shop": account.Owner, "bakery": account.Owner})
	f.service = notify.NewService(notify.ServiceConfig{
		Storage: s, CheckURL: func(url string) error { return loopback.Check(url, true) }, HasMail: true, Now: f.clock.Now,
	})
	f.worker = f.newWorker(s, f.server())
	return f
}

// loopback allows the receivers of the tests.
var loopback = guard.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

// server returns the settings of the mail server.
func (f *fixture) server() notify.MailServer {
	return notify.MailServer{Host: "127.0.0.1", Port: f.mail.Port(), TLS: notify.StartTLS, User: "shop@nord.example", Password: "pass", From: "shop@nord.example", Roots: f.mail.Roots()}
}

func (f *fixture) newWorker(s *storage.Storage, server notify.MailServer) *notify.Worker {
	return newWorker(s, server, f.clock.Now, func() []notify.Fault { return f.faults }, slog.New(slog.NewTextHandler(f.log, nil)))
}

// newWorker returns a worker that may call this machine.
func newWorker(s *storage.Storage, server notify.MailServer, now func() time.Time, faults func() []notify.Fault, log *slog.Logger) *notify.Worker {
	words := locale.All().Default()
	return notify.New(notify.Config{
		Outbox: s, Mail: server, Words: words, DeskURL: "https://shop.example/desk", Shops: s.Merchants, Now: now, Log: log,
		Dialer: &guard.Dialer{Policy: loopback, Resolver: net.DefaultResolver, HostAddresses: func() ([]net.Addr, error) { return nil, nil }},
		Collector: notify.NewCollector(notify.CollectorConfig{
			Storage: s, Words: words, Now: now, AssetName: func(_ invoice.Mode, code string) string { return code },
			Faults: func(context.Context) ([]notify.Fault, error) { return faults(), nil },
		}),
	})
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// join creates an account.
func (f *fixture) join(name string, roles map[string]account.Role) account.Account {
	f.t.Helper()
	a := account.Account{ID: "acc_" + name, Name: name, Roles: roles, CreatedAt: f.clock.Now()}
	f.must(f.storage.ChangeTeam(f.t.Context(), "", func(_ account.Ticket, all []account.Account) ([]account.Account, account.Outcome, error) {
		return append(all, a), account.Outcome{}, nil
	}))
	return a
}

// choose sets the choices of the owner in a shop, with an e-mail address.
func (f *fixture) choose(shop string, choices ...notify.Choice) {
	f.t.Helper()
	f.must(f.service.SetDestinations(f.t.Context(), f.owner, notify.Destinations{Email: email}))
	f.must(f.service.Choose(f.t.Context(), f.owner, shop, choices))
}

// byMail are choices of kinds by e-mail.
func byMail(kinds ...notify.Kind) (all []notify.Choice) {
	for _, k := range kinds {
		all = append(all, notify.Choice{Kind: k, Channel: notify.Mail})
	}
	return all
}

// create creates an invoice with an order.
func (f *fixture) create(id, shop, order string) {
	f.t.Helper()
	c := storagetest.Creation(id, shop)
	build := c.Build
	c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
		inv, err := build(next)
		inv.Terms.OrderID, inv.Terms.Description = order, "A gift for Runa Lind"
		return inv, err
	}
	storagetest.Create(f.t, f.storage, c)
}

// change changes an invoice with an event.
func (f *fixture) change(id string, e invoice.EventType, change func(*invoice.Invoice)) {
	f.t.Helper()
	_, err := f.storage.UpdateInvoice(f.t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
		inv.Version++
		inv.Events = []invoice.Event{storagetest.NewEvent(id, e, inv.Version)}
		change(inv)
		return nil
	})
	f.must(err)
}

// pay creates an invoice that is paid.
func (f *fixture) pay(id, shop, order string) {
	f.t.Helper()
	f.create(id, shop, order)
	f.change(id, invoice.EventPaid, func(inv *invoice.Invoice) { paid(inv, f.clock.Now()) })
}

func paid(inv *invoice.Invoice, at time.Time) {
	inv.State.Status, inv.State.PaidAt, inv.State.PaidAsset = invoice.Paid, at, "BTC"
	inv.State.Paid, inv.State.Due = inv.Terms.Price, money.Zero(money.EUR)
}

// run collects events and sends due messages.
func (f *fixture) run() {
	f.t.Helper()
	f.collect()
	f.send()
}

func (f *fixture) collect() {
	f.t.Helper()
	f.must(f.worker.Collector.Collect(f.t.Context()))
}

func (f *fixture) send() {
	f.t.Helper()
	f.must(f.worker.Send(f.t.Context()))
	f.worker.Wait()
}

// minute advances the clock by a minute, collects events and sends due messages.
func (f *fixture) minute() {
	f.t.Helper()
	f.clock.Advance(time.Minute)
	f.run()
}

// letters returns the received messages, each as its subject and its body.
func (f *fixture) letters() (all []string) {
	f.t.Helper()
	for _, m := range f.mail.Messages() {
		all = append(all, letterOf(f.t, m.Text))
	}
	return all
}

// states returns the messages of the owner, oldest first: channel, kind, state and fault.
func (f *fixture) states() (all []string) {
	f.t.Helper()
	messages, err := f.storage.Messages(f.t.Context(), f.owner.ID, 100)
	f.must(err)
	for _, m := range messages {
		all = append([]string{strings.TrimSpace(string(m.Channel) + " " + string(m.Kind) + " " + string(m.State) + " " + m.Fault)}, all...)
	}
	return all
}

// smtpServer returns another mail server.
func smtpServer(t *testing.T, noTLS, implicit bool) *smtptest.Server {
	s := smtptest.New(t)
	s.User, s.Password, s.NoTLS, s.ImplicitTLS = "shop@nord.example", "pass", noTLS, implicit
	return s.Start()
}
