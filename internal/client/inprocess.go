package client

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// InProcess returns a transport that calls a handler without a network. The handler receives the
// same signed bytes and the same request target as it would in a real server. The call returns when
// the request's context ends; a handler that ignores the context keeps running.
func InProcess(h http.Handler) http.RoundTripper { return inProcess{handler: h} }

type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	served, err := asServed(r)
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	w := &recorder{header: http.Header{}, withoutBody: r.Method == http.MethodHead}
	done := make(chan error, 1)
	go func() {
		defer served.Body.Close()
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("handler panicked: %v", v)
			}
		}()
		p.handler.ServeHTTP(w, served)
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		return w.response(r), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// asServed returns a client's request in the form that a server passes to its handler.
func asServed(r *http.Request) (*http.Request, error) {
	target := r.URL.RequestURI()
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, err
	}
	served := r.Clone(r.Context())
	served.URL, served.RequestURI, served.RemoteAddr = u, target, "127.0.0.1:0"
	served.Proto, served.ProtoMajor, served.ProtoMinor = "HTTP/1.1", 1, 1
	if served.Host == "" {
		served.Host = r.URL.Host
	}
	if served.Body == nil {
		served.Body = http.NoBody
	}
	return served, nil
}

// recorder records the answer of a handler.
type recorder struct {
	header      http.Header
	sent        http.Header // copy of header when the status was written
	status      int
	body        bytes.Buffer
	withoutBody bool
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status != 0 || status < 200 {
		return
	}
	w.status, w.sent = status, w.header.Clone()
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.withoutBody {
		return len(p), nil
	}
	return w.body.Write(p)
}

// response returns the recorded answer to r.
func (w *recorder) response(r *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}
}
