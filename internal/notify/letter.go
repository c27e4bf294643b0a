package notify

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"chequer/internal/format"
	"chequer/internal/locale"
	"chequer/internal/merchant"
)

// letter is a message in the form in which it is sent. The subject has no data of shoppers and invoices.
type letter struct {
	id      string
	subject string
	lines   []line
	manage  string // address of the page at which the account chooses notifications
	urgent  bool
}

// line is a line of a letter with the address of its page.
type line struct{ text, url string }

// maxShop bounds the number of characters of a shop's name in a subject.
const maxShop = 60

// writer writes letters.
type writer struct {
	words   *locale.Language
	deskURL string // address of the desk
	shops   func(ctx context.Context) ([]merchant.Merchant, error)
}

// letter returns a message as it is sent.
func (w writer) letter(ctx context.Context, m Message) (letter, error) {
	all, err := w.shops(ctx)
	if err != nil {
		return letter{}, err
	}
	names := map[string]string{}
	for _, shop := range all {
		names[shop.ID] = format.OneLine(shop.Name, maxShop)
	}
	var ids []string
	for _, i := range m.Items {
		if i.MerchantID != "" && !slices.Contains(ids, i.MerchantID) {
			ids = append(ids, i.MerchantID)
		}
	}
	l := letter{id: m.ID, urgent: m.Kind == Attention || m.Kind == Broken, subject: w.subject(m)}
	switch len(ids) {
	case 0:
	case 1:
		l.subject = w.words.Text("desk.notify.subject", "Shop", names[ids[0]], "Subject", l.subject)
	default:
		l.subject = w.words.Text("desk.notify.subject", "Shop", w.words.Count("desk.notify.shops", len(ids)), "Subject", l.subject)
	}
	for _, i := range m.Items {
		text := i.Text
		switch m.Kind {
		case Test:
			text = w.words.Text("desk.notify.test.line")
		case Verification:
			text = w.words.Text("desk.notify.verification.line")
		}
		if len(ids) > 1 && i.MerchantID != "" {
			text = names[i.MerchantID] + ": " + text
		}
		l.lines = append(l.lines, line{text: text, url: w.address(i.Path)})
		if shop, _, ok := strings.Cut(strings.TrimPrefix(i.Path, "/"), "/"); ok && l.manage == "" {
			l.manage = w.address("/" + shop + "/account/notifications")
		}
	}
	if m.More > 0 {
		l.lines = append(l.lines, line{text: w.words.Count("desk.notify.more", m.More)})
	}
	return l, nil
}

// subject returns the subject without the shop.
func (w writer) subject(m Message) string {
	switch m.Kind {
	case Sold:
		return w.words.Count("desk.notify.sold.subject", m.Count())
	case Attention:
		return w.words.Count("desk.notify.attention.subject", m.Count())
	case Broken:
		return w.words.Count("desk.notify.broken.subject", m.Count())
	case Summary:
		return w.words.Text("desk.notify.summary.subject")
	case Verification:
		return w.words.Text("desk.notify.verification.subject")
	}
	return w.words.Text("desk.notify.test.subject")
}

// address returns the address of a path below the desk.
func (w writer) address(path string) string { return w.deskURL + (&url.URL{Path: path}).EscapedPath() }

// body returns the text of a letter.
func (w writer) body(l letter) string {
	var b strings.Builder
	for _, line := range l.lines {
		b.WriteString("- " + line.text + "\n")
		if line.url != "" {
			b.WriteString("  " + line.url + "\n")
		}
	}
	b.WriteString("\n" + w.words.Text("desk.notify.manage") + "\n" + l.manage + "\n")
	return b.String()
}
