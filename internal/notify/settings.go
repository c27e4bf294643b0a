package notify

import (
	"cmp"
	"errors"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"chequer/internal/audit"
	"chequer/internal/zone"
)

// Settings are the notification settings of an account, for all shops. Storage seals them.
type Settings struct {
	Email     string      `json:"email,omitempty"` // confirmed
	Pending   Unconfirmed `json:"pending,omitzero"`
	PushURL   string      `json:"push_url,omitempty"`
	PushToken string      `json:"push_token,omitempty"`
	// Zone is the time zone of quiet hours, of times in messages and of the days of summaries. If it is "", ShopZone is
	// used, which storage sets to the time zone of the books of the account's first shop.
	Zone     string `json:"zone,omitempty"`
	ShopZone string `json:"-"`
	Quiet    Quiet  `json:"quiet,omitzero"`
	// BrokenIgnoresQuiet makes messages of the kind Broken ignore quiet hours.
	BrokenIgnoresQuiet bool `json:"broken_passes,omitempty"`
}

// FieldError means that a field has an invalid value.
type FieldError struct {
	Field string // "email", "push_url", "push_token", "zone", "quiet_from" or "quiet_to"
	Fault string // rest of a sentence that begins with the field
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + " " + e.Fault }

// ErrTooMany means that the account has requested too many test messages or links.
var ErrTooMany = errors.New("too many requested messages")

// ErrNoDestination means that a test message or a link has no destination.
var ErrNoDestination = errors.New("no address is set")

// Location returns the time zone of the account, or UTC if its name is unknown.
func (s Settings) Location() *time.Location {
	l, err := zone.Load(cmp.Or(s.Zone, s.ShopZone))
	if err != nil {
		return time.UTC
	}
	return l
}

// Destination returns the push URL or the confirmed e-mail address of a channel; "" if there is none.
func (s Settings) Destination(c Channel) string {
	if c == Push {
		return s.PushURL
	}
	return s.Email
}

// SendAt returns the earliest time from t at which a message of a kind may be sent: t, or the end of the
// quiet hours. The kinds Test and Verification ignore quiet hours, and so does Broken if BrokenIgnoresQuiet is set.
func (s Settings) SendAt(k Kind, t time.Time) time.Time {
	if k == Test || k == Verification || k == Broken && s.BrokenIgnoresQuiet {
		return t
	}
	return s.Quiet.End(t, s.Location())
}

const (
	maxEmail = 254 // bytes; see RFC 5321, section 4.5.3.1.3
	maxToken = 200 // characters
)

// checkEmail returns an e-mail address without surrounding space, or a *FieldError. It accepts "".
func checkEmail(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", nil
	}
	a, err := mail.ParseAddress(text)
	if err != nil || a.Address != text || len(text) > maxEmail || strings.ContainsFunc(text, isControl) || !ascii(text) {
		return "", &FieldError{"email", "must be an e-mail address like you@example.org"}
	}
	return text, nil
}

// checkToken returns a *FieldError unless text can be a token in a header. See RFC 6750, section 2.1.
func checkToken(text string) error {
	if len(text) > maxToken || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &FieldError{"push_token", "must have at most 200 letters, digits and signs without spaces"}
	}
	return nil
}

// checkZone returns a *FieldError unless name is "" or the name of a time zone.
func checkZone(name string) error {
	if _, err := zone.Load(name); name != "" && err != nil {
		return &FieldError{"zone", err.Error()}
	}
	return nil
}

// fields returns the settings for the audit log. An address is reduced to its domain or host, because the
// rest may be personal or secret.
func (s Settings) fields() audit.Fields {
	f := audit.Fields{}
	add := func(name, value string) {
		if value != "" {
			f[name] = value
		}
	}
	for name, email := range map[string]string{"mail": s.Email, "mail_unconfirmed": s.Pending.Email} {
		if _, domain, ok := strings.Cut(email, "@"); ok {
			add(name, "…@"+domain)
		}
	}
	if u, err := url.Parse(s.PushURL); err == nil {
		add("push", u.Host)
	}
	if s.PushToken != "" {
		add("push_token", "set")
	}
	add("zone", s.Zone)
	add("quiet", s.Quiet.String())
	if s.BrokenIgnoresQuiet {
		add("broken_passes", strconv.FormatBool(true))
	}
	return f
}

// isControl reports whether a character is a control character or a line break.
func isControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029'
}

func ascii(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}
