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
	// fetchTimeout bounds the time of all requests of one Fetch.
	fetchTimeout = 10 * time.Second
	// maxBody bounds the size of an answer, in bytes.
	maxBody = 1 << 20
	// maxRedirects bounds the redirects of a request, which must stay on the source's host.
	maxRedirects = 3
	// defaultPause and maxPause are the default and the maximum pause after a source has refused a
	// request because of its rate limit.
	defaultPause = time.Minute
	maxPause     = time.Hour
)

// NewClient returns a new HTTP client for sources.
func NewClient() *http.Client {
	return &http.Client{
		Timeout:       fetchTimeout,
		Transport:     http.DefaultTransport.(*http.Transport).Clone(),
		CheckRedirect: sameHost,
	}
}

// sameHost refuses redirects to another host.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return errors.New("redirected to another host")
	}
	if len(via) > maxRedirects {
		return errors.New("redirected too often")
	}
	return nil
}

// busyError means that a source refused a request because of its rate limit.
type busyError struct{ pause time.Duration }

func (e *busyError) Error() string { return fmt.Sprintf("rate limit reached, pause of %s", e.pause) }

// Unwrap returns errNoAnswer, because the rate limit applies to all requests.
func (e *busyError) Unwrap() error { return errNoAnswer }

// get reads a URL. The error wraps errNoAnswer if other requests to the source would fail, too.
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
	case http.StatusTooManyRequests, http.StatusTeapot: // Binance answers 418 to clients that ignore 429
		return nil, &busyError{pause: pause(response.Header.Get("Retry-After"))}
	case http.StatusBadRequest, http.StatusNotFound: // the source does not have the requested pair
		return nil, fmt.Errorf("status %d", response.StatusCode)
	default:
		return nil, fmt.Errorf("%w: status %d", errNoAnswer, response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("%w: larger than %d bytes", errNoAnswer, maxBody)
	}
	return body, nil
}

// pause parses the seconds of a Retry-After header.
func pause(header string) time.Duration {
	seconds, err := strconv.Atoi(header)
	if err != nil || seconds <= 0 {
		return defaultPause
	}
	return time.Duration(min(seconds, int(maxPause/time.Second))) * time.Second
}
