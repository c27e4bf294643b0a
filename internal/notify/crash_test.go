package notify_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/notify"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

// Environment variables of a child process of this test binary: the URL of its database, and the port of its
// mail server.
const (
	childURL  = "CHEQUER_NOTIFY_CHILD_DATABASE_URL"
	childPort = "CHEQUER_NOTIFY_CHILD_MAIL_PORT"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		sendUntilKilled(url)
	}
	os.Exit(m.Run())
}

// plainServer returns the settings of a mail server without TLS and sign-in.
func plainServer(port int) notify.MailServer {
	return notify.MailServer{Host: "127.0.0.1", Port: port, TLS: notify.NoTLS, From: "shop@nord.example"}
}

// sendUntilKilled collects the events, and sends the messages that are due one minute later. The mail server
// does not answer, so that the process is killed meanwhile.
func sendUntilKilled(url string) {
	s, err := storage.Open(context.Background(), url, storagetest.Box(&testing.B{}, 1), storage.Options{})
	if err != nil {
		panic(err)
	}
	port, err := strconv.Atoi(os.Getenv(childPort))
	if err != nil {
		panic(err)
	}
	now := storagetest.Noon
	w := newWorker(s, plainServer(port), func() time.Time { return now }, func() []notify.Fault { return nil }, slog.New(slog.DiscardHandler))
	if err := w.Collector.Collect(context.Background()); err != nil {
		panic(err)
	}
	now = now.Add(time.Minute)
	if err := w.Send(context.Background()); err != nil {
		panic(err)
	}
	w.Wait()
	panic("the process was not killed")
}

// If the process is killed after the mail server received a message, but before the result is stored, the
// message is sent again with the same Message-ID once the claim has expired.
func TestWorker_resends_the_same_message_after_a_kill(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		plain := smtpServer(t, true, false)
		plain.User = ""
		release := plain.Hold()
		defer release()
		f.choose("shop", byMail(notify.Sold)...)
		f.pay("inv1", "shop", "1047")
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), childURL+"="+f.url, childPort+"="+strconv.Itoa(plain.Port()))
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		select {
		case <-plain.Arrived():
		case err := <-ended:
			t.Fatalf("the process ended: %v", err)
		}
		f.must(child.Process.Kill())
		<-ended
		release()
		f.wantStates("mail sold pending")
		f.worker = f.newWorker(f.storage, plainServer(plain.Port()))
		f.run()
		f.minute()
		if n := len(plain.Messages()); n != 1 {
			t.Errorf("got %d messages before the claim expired, want 1", n)
		}
		f.minute()
		f.wantStates("mail sold sent")
		got := plain.Messages()
		if len(got) != 2 || messageID(got[0].Text) == "" {
			t.Fatalf("got %d messages, want the same one twice", len(got))
		}
		if diff := cmp.Diff(messageID(got[0].Text)+letterOf(t, got[0].Text), messageID(got[1].Text)+letterOf(t, got[1].Text)); diff != "" {
			t.Error(diff)
		}
	})
}
