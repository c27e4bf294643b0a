package visit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// formField is the name of the field with the form token.
const formField = "form"

const (
	// answerTTL is the time for which a form that is sent again gets the answer to its first submission.
	answerTTL = 10 * time.Minute
	// maxAnswers bounds the number of kept answers.
	maxAnswers = 256
	// maxAnswer is the size in bytes up to which an answer is kept.
	maxAnswer = 128 << 10
)

// sentForms keeps the answers to the forms that were sent to this process. A second click on a button and a
// reload of an answer send the same form again. The second submission has no effect and gets the same answer, which
// may contain a secret that is shown only once. It is safe for concurrent use.
type sentForms struct {
	mu      sync.Mutex
	answers map[pageID]*answer // the last answer of each page
}

// pageID identifies an action of a page that was loaded once. It is a hash of the masked form token, which is different
// in every page.
type pageID [sha256.Size]byte

// newPageID returns the ID of the page that sends a request, and of its action.
func newPageID(v *Visit) pageID {
	return sha256.Sum256([]byte(v.Session.Hash + "\n" + v.Request().URL.RequestURI() + "\n" + v.FormValue(formField)))
}

// formID identifies the values and files of a form.
type formID [sha256.Size]byte

// newFormID returns the identity of the form that a request sends.
func newFormID(v *Visit) (formID, error) {
	form, err := v.FormParams()
	if err != nil {
		return formID{}, err
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n", form.Encode())
	if err := hashFiles(hash, v.Request().MultipartForm); err != nil {
		return formID{}, err
	}
	return formID(hash.Sum(nil)), nil
}

// hashFiles writes the files of a form to a hash.
func hashFiles(hash io.Writer, form *multipart.Form) error {
	if form == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(form.File)) {
		for _, header := range form.File[name] {
			fmt.Fprintf(hash, "%q %q %d\n", name, header.Filename, header.Size)
			f, err := header.Open()
			if err != nil {
				return err
			}
			_, err = io.Copy(hash, f)
			f.Close()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// answer is the answer to a form. The fields below done are set when done is closed.
type answer struct {
	form   formID
	at     time.Time // when the form was sent
	done   chan struct{}
	kept   bool // the form succeeded and its answer is short enough
	status int
	header http.Header
	body   []byte
}

// keptHeaders are the names of the headers of an answer that are kept with it.
var keptHeaders = []string{
	echo.HeaderLocation, echo.HeaderContentType, echo.HeaderContentDisposition, echo.HeaderContentSecurityPolicy, echo.HeaderReferrerPolicy,
}

// handle calls the handler for a form, or repeats the answer if the form was sent before and succeeded. While the same
// form is being handled, it waits. A handler is not cancelled when the browser closes the connection, which it also does
// on a second click.
func (s *sentForms) handle(v *Visit, handle func(*Visit) error) error {
	form, err := newFormID(v)
	if err != nil {
		return err
	}
	page, ctx := newPageID(v), v.Request().Context()
	for {
		a, isFirst := s.begin(page, form, v.Now())
		if isFirst {
			v.SetRequest(v.Request().WithContext(context.WithValue(context.WithoutCancel(ctx), browserKey{}, ctx)))
			return s.record(page, a, v, handle)
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if a.kept {
			return a.repeat(v)
		}
		s.forget(page, a)
	}
}

// ForgetAnswer does not keep the answer to the form, so that a submission that is repeated is handled again. It is for answers with contents
// of a file that the server does not keep.
func (v *Visit) ForgetAnswer() { v.forgets = true }

// browserKey is the key of the context that ends when the browser closes the connection.
type browserKey struct{}

// BrowserContext returns the context that ends when the browser closes the connection. While a form is handled, the
// context of the request does not end then.
func (v *Visit) BrowserContext() context.Context {
	ctx := v.Request().Context()
	if browser, ok := ctx.Value(browserKey{}).(context.Context); ok {
		return browser
	}
	return ctx
}

// begin returns the answer to a form, and reports whether the caller must handle the form. Only the last form of a page
// is known: if the page sends a form with other values and then the first form again, both are handled.
func (s *sentForms) begin(page pageID, form formID, now time.Time) (a *answer, isFirst bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a = s.answers[page]; a != nil && a.form == form && now.Sub(a.at).Abs() < answerTTL {
		return a, false
	}
	s.makeRoom(now)
	a = &answer{form: form, at: now, done: make(chan struct{})}
	s.answers[page] = a
	return a, true
}

// makeRoom removes the answers that are older than answerTTL, and the oldest answer if there are still maxAnswers.
func (s *sentForms) makeRoom(now time.Time) {
	var oldest pageID
	for id, a := range s.answers {
		if now.Sub(a.at).Abs() >= answerTTL {
			delete(s.answers, id)
		} else if o := s.answers[oldest]; o == nil || a.at.Before(o.at) {
			oldest = id
		}
	}
	if len(s.answers) >= maxAnswers {
		delete(s.answers, oldest)
	}
}

// forget removes an answer that is not kept.
func (s *sentForms) forget(page pageID, a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers[page] == a {
		delete(s.answers, page)
	}
}

// record calls the handler for a form, and keeps its answer if the form succeeded.
func (s *sentForms) record(page pageID, a *answer, v *Visit, handle func(*Visit) error) error {
	defer func() {
		if !a.kept {
			s.forget(page, a)
		}
		close(a.done)
	}()
	copied := &recorder{ResponseWriter: v.Response().Writer}
	v.Response().Writer = copied
	if err := handle(v); err != nil {
		return err
	}
	a.status, a.body, a.header = v.Response().Status, copied.body.Bytes(), http.Header{}
	for _, name := range keptHeaders {
		if value := v.Response().Header().Get(name); value != "" {
			a.header.Set(name, value)
		}
	}
	a.kept = a.status < http.StatusBadRequest && !copied.isCut && !v.forgets
	return nil
}

// repeat writes the answer again.
func (a *answer) repeat(v *Visit) error {
	for name, values := range a.header {
		v.Response().Header()[name] = values
	}
	v.Response().WriteHeader(a.status)
	_, err := v.Response().Write(a.body)
	return err
}

// recorder copies the first maxAnswer bytes of a response.
type recorder struct {
	http.ResponseWriter
	body  bytes.Buffer
	isCut bool
}

// Write implements io.Writer.
func (r *recorder) Write(b []byte) (int, error) {
	room := maxAnswer - r.body.Len()
	r.isCut = r.isCut || len(b) > room
	r.body.Write(b[:min(len(b), room)])
	return r.ResponseWriter.Write(b)
}

// Unwrap returns the writer below, for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
