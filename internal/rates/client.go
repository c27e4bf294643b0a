package rates

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// patience is how long a source may take in all.
	patience = 10 * time.Second
	// maxBody is how much of an answer is read.
	maxBody = 1 << 20
	// maxRedirects is how often a source may send us elsewhere on its own host.
	maxRedirects = 3
	// defaultPause and maxPause are how long a source is left alone after it
	// said that we ask too much.
	defaultPause = time.Minute
	maxPause     = time.Hour
)

// NewClient makes the HTTP client that sources are asked with.
func NewClient() *http.Client {
	return &http.Client{
		Timeout:       patience,
		Transport:     http.DefaultTransport.(*http.Transport).Clone(),
		CheckRedirect: sameHost,
	}
}

// sameHost lets redirects stay on the host that was asked.
func sameHost(r *http.Request, via []*http.Request) error {
	asked := via[0].URL
	if r.URL.Host != asked.Host || r.URL.Scheme != asked.Scheme {
		return errors.New("redirected to another host")
	}
	if len(via) > maxRedirects {
		return errors.New("redirected too often")
	}
	return nil
}

// busyError means that a source said that it is asked too often.
type busyError struct{ pause time.Duration }

func (e *busyError) Error() string { return fmt.Sprintf("asks to be left alone for %s", e.pause) }

// Unwrap makes a busy source one that does not answer.
func (e *busyError) Unwrap() error { return errNoAnswer }

// get reads what stands at a URL. The error is errNoAnswer when the source as a
// whole is to blame, not what was asked for.
func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "chequer")
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusTooManyRequests, http.StatusTeapot: // Binance says 418 to who goes on
		return nil, &busyError{pause: pause(response.Header.Get("Retry-After"))}
	case http.StatusBadRequest, http.StatusNotFound: // it is asked for what it does not have
		return nil, fmt.Errorf("answered %d", response.StatusCode)
	default:
		return nil, fmt.Errorf("%w but status %d", errNoAnswer, response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("%w of at most %d bytes", errNoAnswer, maxBody)
	}
	return body, nil
}

// pause reads the seconds of a Retry-After.
func pause(header string) time.Duration {
	seconds, err := strconv.Atoi(header)
	if err != nil || seconds <= 0 {
		return defaultPause
	}
	return time.Duration(min(seconds, int(maxPause/time.Second))) * time.Second
}
