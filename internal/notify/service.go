package notify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/report"
)

const (
	// requestInterval is the shortest time between two test messages, or two links, that an account requests, and
	// maxRequestsPerDay their largest number in a day.
	requestInterval   = time.Minute
	maxRequestsPerDay = 10
	// ReportedFor is the time for which messages that were given up are reported, and maxFailed bounds their number.
	ReportedFor = 7 * 24 * time.Hour
	maxFailed   = 1000
	// listedMessages is the number of messages that Messages returns.
	listedMessages = 10
)

// Service keeps the settings and the choices of accounts. It is safe for concurrent use.
type Service struct {
	storage Storage
	check   func(url string) error
	hasMail bool
	now     func() time.Time
}

// ServiceConfig holds the dependencies of a Service.
type ServiceConfig struct {
	Storage Storage
	// CheckURL returns an error if no push messages may be sent to a URL. The error is the rest of a sentence.
	CheckURL func(url string) error
	// HasMail reports whether the operator has set a mail server.
	HasMail bool
	Now     func() time.Time
}

// NewService returns a new Service.
func NewService(c ServiceConfig) *Service {
	return &Service{storage: c.Storage, check: c.CheckURL, hasMail: c.HasMail, now: c.Now}
}

// HasMail reports whether the operator has set a mail server.
func (s *Service) HasMail() bool { return s.hasMail }

// Settings returns the settings of an account.
func (s *Service) Settings(ctx context.Context, accountID string) (Settings, error) {
	return s.storage.NotificationSettings(ctx, accountID)
}

// Choices returns the choices of an account in a shop.
func (s *Service) Choices(ctx context.Context, accountID, merchantID string) ([]Choice, error) {
	return s.storage.NotificationChoices(ctx, accountID, merchantID)
}

// Messages returns the newest messages of an account, newest first.
func (s *Service) Messages(ctx context.Context, accountID string) ([]Message, error) {
	return s.storage.Messages(ctx, accountID, listedMessages)
}

// Failed returns the messages of all accounts that were given up in the time ReportedFor, newest first, without
// requested ones.
func (s *Service) Failed(ctx context.Context) ([]Message, error) {
	return s.storage.FailedMessages(ctx, s.now().Add(-ReportedFor), maxFailed)
}

// Destinations are the addresses at which an account gets messages.
type Destinations struct {
	Email, PushURL string
	// PushToken replaces the token of the push address; "" keeps it while the push address stays the same.
	PushToken string
	// NoToken removes the token.
	NoToken bool
}

// SetDestinations sets where an account gets messages. A new e-mail address gets a link, and replaces the former one
// when the account has confirmed it; see Verify. The error is ErrTooMany, or a *FieldError for a wrong value.
func (s *Service) SetDestinations(ctx context.Context, a account.Account, d Destinations) error {
	email, err := checkEmail(d.Email)
	if err != nil {
		return err
	}
	pushURL := strings.TrimSpace(d.PushURL)
	if pushURL != "" {
		if err := s.check(pushURL); err != nil {
			return &FieldError{"push_url", strings.TrimPrefix(err.Error(), "the address ")} // the sentence begins with the field
		}
	}
	token := strings.TrimSpace(d.PushToken)
	if err := checkToken(token); err != nil {
		return err
	}
	if token != "" && pushURL == "" {
		return &FieldError{"push_token", "needs a push address"}
	}
	now := s.now()
	return s.update(ctx, a, func(set *Settings) (r Request) {
		if d.NoToken || pushURL != set.PushURL { // a token is never sent to another address
			set.PushToken = ""
		}
		if token != "" {
			set.PushToken = token
		}
		set.PushURL = pushURL
		if set.replaceEmail(email) {
			r = newRequest(now, 0, verification(a, now))
		}
		return r
	})
}

// Times are the time zone and the quiet hours of an account.
type Times struct {
	Zone               string
	QuietFrom, QuietTo string // times of day such as 22:00; both "" without quiet hours
	BrokenIgnoresQuiet bool
}

// SetTimes sets the time zone and the quiet hours of an account. It returns a *FieldError for a wrong value.
func (s *Service) SetTimes(ctx context.Context, a account.Account, t Times) error {
	if err := checkZone(t.Zone); err != nil {
		return err
	}
	quiet, err := ParseQuiet(t.QuietFrom, t.QuietTo)
	if err != nil {
		return err
	}
	return s.update(ctx, a, func(set *Settings) Request {
		set.Zone, set.Quiet, set.BrokenIgnoresQuiet = t.Zone, quiet, t.BrokenIgnoresQuiet
		return Request{}
	})
}

// update changes the settings of an account with an entry of the audit log, and requests the messages that change
// returns.
func (s *Service) update(ctx context.Context, a account.Account, change func(*Settings) Request) error {
	err := s.storage.UpdateNotificationSettings(ctx, a.ID, func(set *Settings) (Update, error) {
		before := *set
		r := change(set)
		if before == *set {
			return Update{}, nil
		}
		return Update{Change: audit.Change{Action: "notifications.set", Subject: a.Name}.Diff(before.fields(), set.fields()), Request: r}, nil
	})
	if err != nil {
		return fmt.Errorf("set notifications: %w", err)
	}
	return nil
}

// Choose replaces the choices of an account in a shop. It omits kinds that the role of the account does
// not allow.
func (s *Service) Choose(ctx context.Context, a account.Account, merchantID string, choices []Choice) error {
	choices = slices.DeleteFunc(slices.Clone(choices), func(c Choice) bool { return !c.Valid() || !c.Kind.AllowedTo(a, merchantID) })
	set, err := s.storage.NotificationSettings(ctx, a.ID)
	if err != nil {
		return err
	}
	before, err := s.storage.NotificationChoices(ctx, a.ID, merchantID)
	if err != nil {
		return err
	}
	c := audit.Change{MerchantID: merchantID, Action: "notifications.chosen", Subject: a.Name}.Diff(choiceFields(before), choiceFields(choices))
	if len(c.Before)+len(c.After) == 0 {
		return nil
	}
	return s.storage.SaveNotificationChoices(ctx, a.ID, merchantID, choices, localDay(s.now(), set.Location()), c)
}

// choiceFields returns choices for the audit log.
func choiceFields(choices []Choice) audit.Fields {
	f := audit.Fields{}
	for _, kind := range Kinds {
		for _, channel := range Channels {
			if !slices.Contains(choices, Choice{kind, channel}) {
				continue
			}
			if f[string(kind)] != "" {
				f[string(kind)] += ", "
			}
			f[string(kind)] += string(channel)
		}
	}
	return f
}

// SendTest writes a test message to every destination of an account. It returns ErrNoDestination, or
// ErrTooMany.
func (s *Service) SendTest(ctx context.Context, a account.Account, merchantID string) error {
	set, err := s.storage.NotificationSettings(ctx, a.ID)
	if err != nil {
		return err
	}
	now := s.now()
	var entries []Entry
	for _, channel := range Channels {
		if set.Destination(channel) != "" {
			entries = append(entries, Entry{AccountID: a.ID, Channel: channel, Kind: Test, DueAt: now, Item: Item{MerchantID: merchantID, Path: "/" + merchantID + "/account/notifications"}})
		}
	}
	if len(entries) == 0 {
		return ErrNoDestination
	}
	return s.storage.AddTestMessage(ctx, newRequest(now, requestInterval, entries...), audit.Change{MerchantID: merchantID, Action: "notifications.tested", Subject: a.Name})
}

// newRequest returns the request of an account for messages of one kind, which it may repeat after an interval.
func newRequest(now time.Time, interval time.Duration, entries ...Entry) Request {
	return Request{Entries: entries, Now: now, Since: now.Add(-interval), DayAgo: now.AddDate(0, 0, -1), MaxDay: maxRequestsPerDay}
}

// localDay returns the day that a clock in a time zone shows, in days since 1970.
func localDay(t time.Time, zone *time.Location) int64 { return int64(report.DayOf(t, zone)) }
