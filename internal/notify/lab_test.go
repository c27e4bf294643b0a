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

// lab is an owner of the shops "shop" and "bakery" with a worker on real storage.
type lab struct {
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
func onBoth(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Helper()
	storagetest.OnBoth(t, func(t *testing.T, s *storage.Storage, url string) { test(t, newLab(t, s, url)) })
}

func newLab(t *testing.T, s *storage.Storage, url string) *lab {
	t.Helper()
	l := &lab{t: t, url: url, storage: s, clock: clocktest.At(storagetest.Noon), mail: smtptest.New(t), log: &logtest.Journal{}}
	l.mail.User, l.mail.Password = "shop@nord.example", "pass"
	l.mail.Start()
	l.owner = l.join("Maren", map[string]account.Role{"shop": account.Owner, "bakery": account.Owner})
	l.service = notify.NewService(notify.ServiceConfig{
		Storage: s, CheckURL: func(url string) error { return loopback.Check(url, true) }, HasMail: true, Now: l.clock.Now,
	})
	l.worker = l.newWorker(s, l.server())
	return l
}

// loopback allows the receivers of the tests.
var loopback = guard.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

// server returns the settings of the mail server.
func (l *lab) server() notify.MailServer {
	return notify.MailServer{Host: "127.0.0.1", Port: l.mail.Port(), TLS: notify.StartTLS, User: "shop@nord.example", Password: "pass", From: "shop@nord.example", Roots: l.mail.Roots()}
}

func (l *lab) newWorker(s *storage.Storage, server notify.MailServer) *notify.Worker {
	return newWorker(s, server, l.clock.Now, func() []notify.Fault { return l.faults }, slog.New(slog.NewTextHandler(l.log, nil)))
}

// newWorker returns a worker that may call this machine.
func newWorker(s *storage.Storage, server notify.MailServer, now func() time.Time, faults func() []notify.Fault, log *slog.Logger) *notify.Worker {
	words := locale.All().Default()
	return notify.New(notify.Config{
		Outbox: s, Mail: server, Words: words, DeskURL: "https://shop.example/desk", Shops: s.Merchants, Now: now, Log: log,
		Dialer: &guard.Dialer{Policy: loopback, Resolver: net.DefaultResolver, Own: func() ([]net.Addr, error) { return nil, nil }},
		Collector: notify.NewCollector(notify.CollectorConfig{
			Storage: s, Words: words, Now: now, AssetName: func(_ invoice.Mode, code string) string { return code },
			Faults: func(context.Context) ([]notify.Fault, error) { return faults(), nil },
		}),
	})
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// join creates an account.
func (l *lab) join(name string, roles map[string]account.Role) account.Account {
	l.t.Helper()
	a := account.Account{ID: "acc_" + name, Name: name, Roles: roles, CreatedAt: l.clock.Now()}
	l.must(l.storage.ChangeTeam(l.t.Context(), "", func(_ account.Ticket, all []account.Account) ([]account.Account, account.Outcome, error) {
		return append(all, a), account.Outcome{}, nil
	}))
	return a
}

// choose sets the choices of the owner in a shop, with an e-mail address.
func (l *lab) choose(shop string, choices ...notify.Choice) {
	l.t.Helper()
	l.must(l.service.SetDestinations(l.t.Context(), l.owner, notify.Destinations{Email: email}))
	l.must(l.service.Choose(l.t.Context(), l.owner, shop, choices))
}

// byMail are choices of kinds by e-mail.
func byMail(kinds ...notify.Kind) (all []notify.Choice) {
	for _, k := range kinds {
		all = append(all, notify.Choice{Kind: k, Channel: notify.Mail})
	}
	return all
}

// create creates an invoice with an order.
func (l *lab) create(id, shop, order string) {
	l.t.Helper()
	c := storagetest.Creation(id, shop)
	build := c.Build
	c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
		inv, err := build(next)
		inv.Terms.OrderID, inv.Terms.Description = order, "A gift for Runa Lind"
		return inv, err
	}
	storagetest.Create(l.t, l.storage, c)
}

// change changes an invoice with an event.
func (l *lab) change(id string, e invoice.EventType, change func(*invoice.Invoice)) {
	l.t.Helper()
	_, err := l.storage.UpdateInvoice(l.t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
		inv.Version++
		inv.Events = []invoice.Event{storagetest.NewEvent(id, e, inv.Version)}
		change(inv)
		return nil
	})
	l.must(err)
}

// pay creates an invoice that is paid.
func (l *lab) pay(id, shop, order string) {
	l.t.Helper()
	l.create(id, shop, order)
	l.change(id, invoice.EventPaid, func(inv *invoice.Invoice) { paid(inv, l.clock.Now()) })
}

func paid(inv *invoice.Invoice, at time.Time) {
	inv.State.Status, inv.State.PaidAt, inv.State.PaidAsset = invoice.Paid, at, "BTC"
	inv.State.Paid, inv.State.Due = inv.Terms.Price, money.Zero(money.EUR)
}

// run collects and sends what is due.
func (l *lab) run() {
	l.t.Helper()
	l.collect()
	l.send()
}

func (l *lab) collect() {
	l.t.Helper()
	l.must(l.worker.Collector.Collect(l.t.Context()))
}

func (l *lab) send() {
	l.t.Helper()
	l.must(l.worker.Send(l.t.Context()))
	l.worker.Wait()
}

// minute passes a minute, and sends what is due.
func (l *lab) minute() {
	l.t.Helper()
	l.clock.Pass(time.Minute)
	l.run()
}

// letters returns the received messages, each as its subject and its body.
func (l *lab) letters() (all []string) {
	l.t.Helper()
	for _, m := range l.mail.Messages() {
		all = append(all, letterOf(l.t, m.Text))
	}
	return all
}

// states returns the messages of the owner, oldest first: channel, kind, state and fault.
func (l *lab) states() (all []string) {
	l.t.Helper()
	messages, err := l.storage.Messages(l.t.Context(), l.owner.ID, 100)
	l.must(err)
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
