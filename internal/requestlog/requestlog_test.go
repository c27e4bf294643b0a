package requestlog_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"chequer/internal/requestlog"
)

func TestNew_gives_each_request_an_ID(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	log := slog.New(requestlog.Handler(slog.NewTextHandler(&text, nil))).With("program", "test")
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.ErrorContext(r.Context(), "page failed")
		if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil {
			t.Errorf("deadline: %v", err)
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("short and stout"))
	})
	s := httptest.NewServer(requestlog.New(requestlog.Config{Access: log, Now: time.Now}, next))
	defer s.Close()
	ids := map[string]bool{}
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/invoice/abcdefghijklmnopqrstuvwxyz012345?token=secret", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(requestlog.Header, "of the caller")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		id := answer.Header.Get(requestlog.Header)
		if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(id) || ids[id] {
			t.Errorf("request ID %q", id)
		}
		ids[id] = true
	}
	s.Close() // waits for the log lines of both requests
	for id := range ids {
		if n := strings.Count(text.String(), "request="+id); n != 2 {
			t.Errorf("%d log lines have the ID %s, want 2:\n%s", n, id, text.String())
		}
	}
	for _, want := range []string{"path=/invoice/abcdef…", "status=418", "bytes=15", "method=GET", "duration="} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s is not in the access log:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "secret") || strings.Contains(text.String(), "uvwxyz") {
		t.Errorf("the access log has a secret:\n%s", text.String())
	}
}

func TestNew_without_an_access_log(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	requestlog.New(requestlog.Config{}, http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusNotFound || w.Header().Get(requestlog.Header) == "" {
		t.Errorf("answer %d with the ID %q", w.Code, w.Header().Get(requestlog.Header))
	}
}
