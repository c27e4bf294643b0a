package notify_test

import (
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/notify"
	"chequer/internal/storage/storagetest"
)

// letterOf returns the subject and the body of a message.
func letterOf(t *testing.T, text string) string {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("message %q: %v", text, err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	body := m.Body
	if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	read, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return subject + "\n\n" + strings.ReplaceAll(string(read), "\r\n", "\n")
}

func TestMail_of_a_paid_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold, notify.Attention)...)
		f.pay("inv1", "shop", "1047")
		f.run()
		if got := f.mail.Messages(); len(got) != 0 {
			t.Fatalf("the message did not wait for others of its minute: %v", got)
		}
		f.minute()
		want := []string{"shop: You sold something\n\n- Order 1047: €56.50, BTC\n  https://shop.example/desk/shop/payments/inv1\n\nChoose what reaches you:\nhttps://shop.example/desk/shop/account/notifications\n"}
		if diff := cmp.Diff(want, f.letters()); diff != "" {
			t.Error(diff)
		}
		sent := f.mail.Messages()[0]
		if sent.To != email || sent.From != "shop@nord.example" || !sent.Protected || sent.User != "shop@nord.example" {
			t.Errorf("got message from %s to %s, protected %t, user %q", sent.From, sent.To, sent.Protected, sent.User)
		}
		f.minute()
		if n := len(f.mail.Messages()); n != 1 {
			t.Errorf("the message was sent %d times", n)
		}
		if diff := cmp.Diff([]string{"mail sold sent"}, f.states()); diff != "" {
			t.Error(diff)
		}
	})
}

// A subject has no data of shoppers and invoices, and no text from outside adds a header or a line.
func TestMail_keeps_foreign_text_in_its_place(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		const order = "1047\r\nBcc: thief@evil.example\r\n\r\nRuna\u2028Lind"
		storagetest.Exec(t, f.url, "UPDATE merchants SET name = $1 WHERE id = 'shop'", "Nord\r\nBcc: thief@evil.example\r\n\r\nWin a prize\u0085\x7f Ateljé")
		f.choose("shop", byMail(notify.Sold, notify.Attention)...)
		f.pay("inv1", "shop", order)
		f.create("inv2", "shop", order)
		f.change("inv2", invoice.EventException, func(inv *invoice.Invoice) {
			inv.State.Status, inv.State.Exceptions = invoice.Expired, []invoice.Exception{invoice.Late}
		})
		f.run()
		f.minute()
		if n := len(f.mail.Messages()); n != 2 {
			t.Fatalf("got %d messages, want 2", n)
		}
		for _, m := range f.mail.Messages() {
			if m.To != email {
				t.Errorf("a message to %s", m.To)
			}
			parsed, err := mail.ReadMessage(strings.NewReader(m.Text))
			if err != nil {
				t.Fatal(err)
			}
			if got := parsed.Header["Bcc"]; got != nil {
				t.Errorf("the shop's name added the header %v", got)
			}
			subject, body, _ := strings.Cut(letterOf(t, m.Text), "\n\n")
			for _, private := range []string{"1047", "Runa", "56.50", "inv", "gift"} {
				if strings.Contains(subject, private) {
					t.Errorf("the subject %q contains %q", subject, private)
				}
			}
			if !strings.HasPrefix(subject, "Nord Bcc: thief@evil.example Win a prize Ateljé: ") {
				t.Errorf("subject %q", subject)
			}
			if n := strings.Count(body, "\n"); n != 5 || strings.Contains(body, "gift") || strings.ContainsAny(body, "\u2028\u0085") {
				t.Errorf("body %q has %d lines, want 5 without line breaks of the order and without the description", body, n)
			}
		}
	})
}

func TestMail_of_a_case_is_sent_once_per_state(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Attention)...)
		f.create("inv1", "shop", "1051")
		short := func(status invoice.Status) func(*invoice.Invoice) {
			return func(inv *invoice.Invoice) {
				inv.State.Status, inv.State.Exceptions = status, []invoice.Exception{invoice.Underpaid}
			}
		}
		f.change("inv1", invoice.EventException, short(invoice.Pending)) // waits for the shopper
		f.run()
		f.minute()
		if got := f.letters(); len(got) != 0 {
			t.Fatalf("an invoice that waits for the shopper was reported: %q", got)
		}
		f.change("inv1", invoice.EventExpired, short(invoice.Expired))
		f.run()
		f.minute()
		f.change("inv1", invoice.EventException, short(invoice.Expired))
		f.run()
		f.minute()
		if got := f.letters(); len(got) != 1 || !strings.Contains(got[0], "Order 1051, €56.50: €56.50 short") {
			t.Fatalf("got %q, want one message", got)
		}
		f.change("inv1", invoice.EventException, func(inv *invoice.Invoice) {
			inv.State.Exceptions = append(inv.State.Exceptions, invoice.Late)
		})
		f.run()
		f.minute()
		if got := f.letters(); len(got) != 2 || !strings.Contains(got[1], "Order 1051, €56.50: Late") {
			t.Fatalf("got %q, want a message of the new state", got)
		}
	})
}

// A payment after a decision is reported again, although the invoice has no new exception.
func TestMail_of_a_payment_after_a_decision(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Attention)...)
		f.pay("inv1", "shop", "1051")
		f.change("inv1", invoice.EventException, func(inv *invoice.Invoice) {
			inv.State.Exceptions = []invoice.Exception{invoice.Overpaid}
		})
		f.run()
		f.minute()
		f.change("inv1", invoice.EventPaymentSeen, func(inv *invoice.Invoice) {
			inv.Kept, inv.State.Decided = invoice.KeptSurplus{Mark: invoice.Mark{By: "Maren", At: f.clock.Now()}, Amount: inv.Terms.Price}, true
		})
		f.run()
		f.minute()
		if got := f.letters(); len(got) != 1 {
			t.Fatalf("got %q, want one message", got)
		}
		for _, e := range []invoice.EventType{invoice.EventPaymentSeen, invoice.EventPaymentConfirmed} {
			f.change("inv1", e, func(inv *invoice.Invoice) { inv.State.Decided = false })
			f.run()
			f.minute()
		}
		if got := f.letters(); len(got) != 2 {
			t.Errorf("got %q, want another message", got)
		}
	})
}

// The shopper's request for a refund is reported, although the payment waited for a decision before.
func TestMail_of_a_request_for_a_refund(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Attention)...)
		f.pay("inv1", "shop", "1051")
		f.change("inv1", invoice.EventException, func(inv *invoice.Invoice) {
			inv.State.Exceptions = []invoice.Exception{invoice.Overpaid}
		})
		f.run()
		f.minute()
		for range 2 {
			f.change("inv1", invoice.EventRefundRequested, func(inv *invoice.Invoice) { inv.State.RefundAsked = true })
			f.run()
			f.minute()
		}
		if got := f.letters(); len(got) != 2 || !strings.Contains(got[1], "Order 1051, €56.50: Refund requested") {
			t.Errorf("got %q, want a message of the request", got)
		}
	})
}

// A payment that was reverted after it was complete needs attention.
func TestMail_of_a_reverted_payment(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold, notify.Attention)...)
		f.pay("inv1", "shop", "1044")
		f.run()
		f.minute()
		f.change("inv1", invoice.EventReverted, func(inv *invoice.Invoice) {
			inv.State.Status, inv.State.PaidAt, inv.State.Exceptions = invoice.Created, time.Time{}, []invoice.Exception{invoice.WasReorged}
		})
		f.run()
		f.minute()
		if got := f.letters(); len(got) != 2 || !strings.Contains(got[1], "shop: Something needs you") || !strings.Contains(got[1], "Reverted") {
			t.Errorf("got %q", got)
		}
	})
}

// Many payments in one minute are one message, which lists some and counts the others.
func TestMail_bundles_a_flood(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		f.must(f.service.Choose(t.Context(), f.owner, "bakery", byMail(notify.Sold)))
		for i := range notify.MaxItems + 3 {
			f.pay("shop"+string(rune('A'+i%26))+string(rune('a'+i/26)), "shop", "")
			if i%20 == 0 {
				f.collect()
			}
		}
		f.pay("other", "bakery", "7")
		f.run()
		f.minute()
		got := f.letters()
		if len(got) != 1 {
			t.Fatalf("got %d messages, want 1", len(got))
		}
		if !strings.HasPrefix(got[0], "2 shops: You sold something 54 times\n") || !strings.Contains(got[0], "- and 4 more\n") {
			t.Errorf("got %q", got[0])
		}
		if n := strings.Count(got[0], "https://shop.example/desk/shop/payments/") + strings.Count(got[0], "https://shop.example/desk/bakery/payments/"); n != notify.MaxItems {
			t.Errorf("the message lists %d payments, want %d", n, notify.MaxItems)
		}
	})
}
