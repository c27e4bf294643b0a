package readiness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"chequer/internal/config"
	"chequer/internal/guard"
)

// requestTimeout bounds the time to wait for the running server.
const requestTimeout = 5 * time.Second

// Check queries the server of these settings at its listening address. It returns an error if the
// server is not ready.
func Check(ctx context.Context, cfg config.Config) error {
	answer, status, err := Request(ctx, cfg, "")
	switch {
	case err != nil:
		return err
	case !answer.Ready:
		return fmt.Errorf("/readyz answers %d", status)
	}
	return nil
}

// Request fetches /readyz from the address on which a server with these settings listens. pass is the
// installation's pass, or "".
func Request(ctx context.Context, cfg config.Config, pass string) (Answer, int, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return Answer{}, 0, err
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	return Fetch(ctx, "http://"+net.JoinHostPort(host, port)+cfg.BasePath()+"/readyz", pass)
}

// maxAnswer bounds the size of the answer of /readyz, in bytes.
const maxAnswer = 1 << 20

// Fetch fetches a server's /readyz. pass is the installation's pass, or "" for a server that
// may belong to another operator. The status is 0 if there was no answer. Redirects are not
// followed.
func Fetch(ctx context.Context, url, pass string) (found Answer, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Answer{}, 0, err
	}
	if pass != "" {
		r.Header.Set("Authorization", "Bearer "+pass)
	}
	client := &http.Client{
		Transport:     guard.NoUpgrade(&http.Transport{DisableKeepAlives: true}), // no HTTP proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(r)
	if err != nil {
		return Answer{}, 0, err
	}
	defer answer.Body.Close()
	err = json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&found)
	return found, answer.StatusCode, err
}
