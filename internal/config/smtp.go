package config

import (
	"errors"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
)

// SMTPTLS is the way in which the connection to the mail server is protected.
type SMTPTLS string

// The ways of protection.
const (
	// StartTLS begins in plain text and requires STARTTLS before the sign-in. See RFC 3207.
	StartTLS SMTPTLS = "starttls"
	// ImplicitTLS begins with TLS. See RFC 8314.
	ImplicitTLS SMTPTLS = "tls"
	// NoTLS uses no TLS. It is allowed only for a server on this machine.
	NoTLS SMTPTLS = "off"
)

// SMTP is the mail server that sends the notifications.
type SMTP struct {
	Host           string
	Port           int
	TLS            SMTPTLS
	User, Password string // both "" without a sign-in
	From           string // address of the sender
}

// SMTP returns the mail server of the settings; the zero SMTP if there is none.
func (c Config) SMTP() SMTP {
	s, err := c.smtp()
	if err != nil {
		return SMTP{}
	}
	return s
}

// Reasons for which the mail server's settings are refused. They quote no part of the address, which has a password.
var (
	errSMTPURL  = errors.New("SMTP_URL: must be smtp://user:password@host:587 or smtps://user:password@host:465, with % and two hexadecimal digits for each of / ? # % @ : in user and password")
	errSMTPUser = errors.New("SMTP_URL: has a user without a password, or a password without a user")
	errSMTPOff  = errors.New("SMTP_URL: tls=off is allowed only for smtp and an IP address of this machine, like smtp://127.0.0.1:25?tls=off")
	errSMTPFrom = errors.New("SMTP_FROM: is not an e-mail address like shop@example.org; it is required if the user of CHEQUER_SMTP_URL is not one")
)

// smtp parses the settings of the mail server.
func (c Config) smtp() (SMTP, error) {
	if c.SMTPURL == "" {
		if c.SMTPFrom != "" {
			return SMTP{}, errors.New("SMTP_FROM: goes together with CHEQUER_SMTP_URL")
		}
		return SMTP{}, nil
	}
	u, err := url.Parse(c.SMTPURL)
	if err != nil || u.Opaque != "" || u.Hostname() == "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return SMTP{}, errSMTPURL
	}
	s := SMTP{Host: u.Hostname(), Port: 587, TLS: StartTLS}
	switch u.Scheme {
	case "smtp": // with the defaults above
	case "smtps":
		s.Port, s.TLS = 465, ImplicitTLS
	default:
		return SMTP{}, errSMTPURL
	}
	if text := u.Port(); text != "" {
		if !isPort(text) || text == "0" {
			return SMTP{}, errSMTPURL
		}
		s.Port, _ = strconv.Atoi(text) // isPort has checked it
	}
	if s.User = u.User.Username(); u.User != nil {
		s.Password, _ = u.User.Password()
	}
	if (s.User == "") != (s.Password == "") {
		return SMTP{}, errSMTPUser
	}
	if err := s.parseQuery(u); err != nil {
		return SMTP{}, err
	}
	if s.From = c.SMTPFrom; s.From == "" {
		s.From = s.User
	}
	if a, err := mail.ParseAddress(s.From); err != nil || a.Address != s.From {
		return SMTP{}, errSMTPFrom
	}
	return s, nil
}

// parseQuery reads tls=off.
func (s *SMTP) parseQuery(u *url.URL) error {
	switch u.RawQuery {
	case "":
		return nil
	case "tls=off":
		address, err := netip.ParseAddr(s.Host)
		if err != nil || !address.Unmap().IsLoopback() || s.TLS != StartTLS {
			return errSMTPOff
		}
		s.TLS = NoTLS
		return nil
	}
	return errSMTPURL
}
