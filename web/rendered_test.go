package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/locale"
	"chequer/views"
	"chequer/web"
	"chequer/web/present/presenttest"
)

// encodedPage requests a page with an Accept-Encoding header, and returns its decoded body.
func encodedPage(t *testing.T, h http.Handler, r *http.Request, accepted string) string {
	t.Helper()
	r = r.Clone(t.Context())
	r.Header.Set("Accept-Encoding", accepted)
	response := do(h, r)
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", response.Status, err)
	}
	if vary := strings.Join(response.Header.Values("Vary"), ","); !strings.Contains(vary, "Accept-Encoding") || !strings.Contains(vary, "Accept-Language") {
		t.Errorf("Vary is %q", vary)
	}
	if accepted == "identity" {
		return string(body)
	}
	if got, want := response.Header.Get("Content-Length"), strconv.Itoa(len(body)); got != "" && got != want {
		t.Errorf("Content-Length is %q, want %s", got, want)
	}
	var decoded []byte
	switch coding := response.Header.Get("Content-Encoding"); coding {
	case "gzip":
		plain, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		decoded, err = io.ReadAll(plain) // checks the checksum and the length
		if err != nil {
			t.Fatal(err)
		}
	case "br":
		if decoded, err = io.ReadAll(brotli.NewReader(bytes.NewReader(body))); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("Content-Encoding is %q for %q", coding, accepted)
	}
	return string(decoded)
}

func pageRequest(t *testing.T, target string) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
}

// The page of an unchanged invoice is rendered and compressed once, although the remaining seconds change. Each view reads
// the invoice once.
func TestPayment_renders_an_unchanged_page_once(t *testing.T) {
	for name, r := range map[string]api.Resource{"open": presenttest.Invoice("abc"), "paid": presenttest.Paid(func(*api.Resource) {})} {
		t.Run(name, func(t *testing.T) {
			s := newService(r)
			h := pages(t, s, nil)
			request := pageRequest(t, "/invoice/abc")
			seconds := []int64{872, 871, 100, 99, 1}
			for i, left := range seconds {
				r.SecondsLeft = left
				s.set(r)
				reads, drawn := s.reads, views.DrawnCodes()
				got := encodedPage(t, h, request, "gzip, deflate, br, zstd")
				if s.reads != reads+1 {
					t.Errorf("view %d reads the invoice %d times, want once", i+1, s.reads-reads)
				}
				if i > 0 && views.DrawnCodes() != drawn {
					t.Errorf("view %d draws codes", i+1)
				}
				if want := encodedPage(t, h, request, "identity"); got != want {
					t.Errorf("with %d seconds left the cached page differs from the rendered page:\n%s\n%s", left, got, want)
				}
			}
			if got := h.RenderedPages(); got != 1 {
				t.Errorf("%d views rendered the page %d times, want once", len(seconds), got)
			}
		})
	}
}

// A cached page is the page that a client without compression gets, after every change of its content and after requests of
// other visitors.
func TestPayment_cached_page_is_current(t *testing.T) {
	type site struct {
		service  *service
		now      time.Time
		settings web.ShopSettings
	}
	for name, change := range map[string]func(s *site, r *http.Request){
		"invoice": func(s *site, _ *http.Request) {
			r := s.service.invoices["abc"].Resource
			r.Version, r.DueAmount = 2, "10"
			s.service.set(r)
		},
		"same version": func(s *site, _ *http.Request) {
			r := s.service.invoices["abc"].Resource
			r.Description = "Three prints"
			s.service.set(r)
		},
		"end of the quote": func(s *site, _ *http.Request) {
			r := s.service.invoices["abc"].Resource
			r.SecondsLeft = 0
			s.service.set(r)
		},
		"network that is behind": func(s *site, _ *http.Request) {
			r := s.service.invoices["abc"].Resource
			r.PaymentMethods = slices.Clone(r.PaymentMethods)
			r.PaymentMethods[0].Behind = true
			s.service.set(r)
		},
		"tag": func(s *site, _ *http.Request) {
			changed := s.service.invoices["abc"]
			changed.ETag = `"other"`
			s.service.invoices["abc"] = changed
		},
		"theme": func(s *site, _ *http.Request) {
			changed := s.service.invoices["abc"]
			changed.Theme = presenttest.Theme(t).Hash()
			s.service.themes = append(s.service.themes, presenttest.Theme(t))
			s.service.invoices["abc"] = changed
		},
		"merchant": func(s *site, _ *http.Request) {
			changed := s.service.invoices["abc"]
			changed.MerchantID = "m_nord"
			s.service.invoices["abc"] = changed
		},
		"storefront": func(s *site, _ *http.Request) { s.settings.Storefront = !s.settings.Storefront },
		"languages": func(s *site, _ *http.Request) {
			s.settings.Languages, _ = locale.All().Subset("de", "de")
		},
		"day":              func(s *site, _ *http.Request) { s.now = s.now.AddDate(0, 0, 1) },
		"browser language": func(_ *site, r *http.Request) { r.Header.Set("Accept-Language", "de") },
		"chosen language":  func(_ *site, r *http.Request) { r.URL.RawQuery = "lang=de" },
		"chosen English":   func(_ *site, r *http.Request) { r.URL.RawQuery = "lang=en" },
		"frame":            func(_ *site, r *http.Request) { r.Header.Set("Sec-Fetch-Dest", "iframe") },
		"frame of plug-in": func(_ *site, r *http.Request) { r.URL.RawQuery = "view=modal" },
		"method":           func(_ *site, r *http.Request) { r.URL.RawQuery = "m=EURC-BASE" },
		"code with amount": func(_ *site, r *http.Request) { r.URL.RawQuery = "m=EURC-BASE&amount=1" },
		"reloading":        func(_ *site, r *http.Request) { r.URL.RawQuery = "auto=1" },
		"refusal":          func(_ *site, r *http.Request) { r.URL.RawQuery = "hold=later" },
	} {
		t.Run(name, func(t *testing.T) {
			r := presenttest.Invoice("abc")
			r.URLFailure = "" // the page links to the storefront
			s := &site{service: newService(r), now: noon, settings: web.ShopSettings{Languages: locale.All(), Storefront: true}}
			h := pages(t, s.service, func(c *web.Config) {
				c.Now = func() time.Time { return s.now }
				c.ShopSettings = func(context.Context, string) web.ShopSettings { return s.settings }
				c.Shop = func(context.Context, string) (web.Shop, error) { return web.Shop{ID: "m_root"}, nil }
			})
			first := pageRequest(t, "/invoice/abc")
			before := encodedPage(t, h, first, "gzip")
			second := pageRequest(t, "/invoice/abc")
			change(s, second)
			want := encodedPage(t, h, second, "identity")
			if want == before {
				t.Fatal("the change does not change the page")
			}
			for view := range 2 {
				if got := encodedPage(t, h, second, "gzip"); got != want {
					t.Errorf("view %d after the change is\n%s\nwant\n%s", view+1, got, want)
				}
			}
			if got, want := encodedPage(t, h, first, "gzip"), encodedPage(t, h, first, "identity"); got != want {
				t.Errorf("the page of the first visitor is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// The first view of a page that was rendered in advance renders and draws nothing, and has fewer bytes.
func TestPrerender_renders_the_pages_of_new_invoices(t *testing.T) {
	german := presenttest.Invoice("german")
	german.Language = "de"
	created := make(chan string)
	h := pages(t, newService(presenttest.Invoice("abc"), german), func(c *web.Config) { c.Created = created })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- h.Prerender(ctx) }()
	for _, id := range []string{"abc", "german", "nosuch", "nosuch"} {
		created <- id // taken when the page before it is complete
	}
	for _, target := range []string{"/invoice/abc", "/invoice/german"} {
		rendered, drawn, request := h.RenderedPages(), views.DrawnCodes(), pageRequest(t, target)
		want := encodedPage(t, h, request, "identity")
		for _, accepted := range []string{"gzip", "gzip, br"} {
			if got := encodedPage(t, h, request, accepted); got != want {
				t.Errorf("%s with %s is\n%s\nwant\n%s", target, accepted, got, want)
			}
		}
		if h.RenderedPages() != rendered || views.DrawnCodes() != drawn {
			t.Errorf("%s renders %d pages and draws %d codes, want none", target, h.RenderedPages()-rendered, views.DrawnCodes()-drawn)
		}
		request.Header.Set("Accept-Encoding", "gzip, br")
		if coding := do(h, request).Header.Get("Content-Encoding"); coding != "br" {
			t.Errorf("%s has the coding %q, want br", target, coding)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("ended with %v, want no error", err)
	}
}

// If invoices wait, the page of the newest one is rendered first.
func TestPrerender_renders_the_newest_page_first(t *testing.T) {
	created := make(chan string, 2)
	s := newService(presenttest.Invoice("old"), presenttest.Invoice("new"))
	h := pages(t, s, func(c *web.Config) { c.Created = created })
	created <- "old"
	created <- "new"
	ctx, cancel := context.WithCancel(t.Context())
	s.onInvoice = func(id string) {
		if id != "new" {
			t.Errorf("the page of %q is rendered first, want that of the newest invoice", id)
		}
		cancel()
	}
	if err := h.Prerender(ctx); err != nil {
		t.Errorf("ended with %v, want no error", err)
	}
}

// A page of an invoice that a service in another process describes has no tag and no merchant.
func TestPayment_without_a_tag_is_cached(t *testing.T) {
	s := newService()
	s.invoices["abc"] = client.Snapshot{Resource: presenttest.Invoice("abc")}
	h := pages(t, s, nil)
	for range 2 {
		encodedPage(t, h, pageRequest(t, "/invoice/abc"), "gzip")
	}
	if got := h.RenderedPages(); got != 1 {
		t.Errorf("the page was rendered %d times, want once", got)
	}
}
