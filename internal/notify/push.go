package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"chequer/internal/guard"
)

const (
	// maxPush bounds the text of a push message, in bytes. A server of ntfy makes longer ones attachments.
	maxPush = 3500
	// maxAnswer bounds how much of an answer is read, in bytes.
	maxAnswer = 64 << 10
)

// pusher sends push messages in the form that ntfy reads.
type pusher struct {
	dialer guard.Connector
	tls    *tls.Config // nil uses the system's certificates
}

// send posts a letter to a push address.
func (p pusher) send(ctx context.Context, address, token string, l letter) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(pushBody(l)))
	if err != nil {
		return permanent{errors.New("the push address is not valid")}
	}
	r.Header.Set("Content-Type", "text/plain; charset=utf-8")
	r.Header.Set("User-Agent", "Chequer")
	r.Header.Set("Title", mime.QEncoding.Encode("utf-8", l.subject))
	if l.urgent {
		r.Header.Set("Priority", "high")
	}
	r.Header.Set("Click", l.click())
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := guard.RoundTrip(r, p.dialer, true, p.tls)
	if err != nil {
		return withoutURL(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)) // an error is ignored, because only the status matters
	return statusFault(answer.StatusCode)
}

// statusFault returns the error of an answer. A receiver that refuses the message for good ends the attempts.
func statusFault(status int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
	case status >= 300 && status < 500:
		return permanent{fmt.Errorf("the push server answered %d", status)}
	}
	return fmt.Errorf("the push server answered %d", status)
}

// withoutURL returns an error without the URL of the request, whose topic is a secret.
func withoutURL(err error) error {
	if fault, ok := errors.AsType[*url.Error](err); ok {
		return fault.Err
	}
	return err
}

// click returns the address of the page that a letter opens: that of its only line, or else the page of the account.
func (l letter) click() string {
	if len(l.lines) == 1 && l.lines[0].url != "" {
		return l.lines[0].url
	}
	return l.manage
}

// pushBody returns the lines of a letter that fit in a push message.
func pushBody(l letter) []byte {
	var b strings.Builder
	for i, line := range l.lines {
		if b.Len()+len(line.text) > maxPush {
			fmt.Fprintf(&b, "… +%d", len(l.lines)-i)
			break
		}
		b.WriteString(line.text + "\n")
	}
	return []byte(strings.TrimSpace(b.String()))
}
