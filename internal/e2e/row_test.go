package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/app"
)

// withoutInitialTarget starts a proxy that removes scroll-initial-target from style sheets, because
// browsers other than Chromium ignore that property. It returns the proxy's address.
func withoutInitialTarget(t *testing.T, target string) string {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: func(r *http.Response) error {
			if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/css") {
				return nil
			}
			sheet, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			sheet = bytes.ReplaceAll(sheet, []byte("scroll-initial-target:nearest"), nil)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(sheet)), int64(len(sheet))
			r.Header.Set("Content-Length", strconv.Itoa(len(sheet)))
			return nil
		},
		Transport: &http.Transport{DisableCompression: true},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// TestChosen_method_is_visible checks that the row of methods scrolls to the chosen method in every
// browser, and that the page does not scroll.
func TestChosen_method_is_visible(t *testing.T) {
	p := start(t, settings(t), app.Options{Demo: true})
	b := open(t, phoneScreen)
	page := withoutInitialTarget(t, p.url) + strings.TrimPrefix(b.createInvoice(p.url, "12,50"), p.url)
	const position = `(() => {
		const row = document.querySelector(".methods").getBoundingClientRect(), label = document.querySelector(".methods :checked+label").getBoundingClientRect();
		return [document.querySelector(".methods :checked").value, label.left >= row.left && label.right <= row.right ? "visible" : "hidden", scrollX, scrollY].join(" ");
	})()`
	for _, s := range []screen{phoneScreen, {name: "frame", width: 440, height: 700}} {
		for _, language := range []string{"en", "ar"} {
			t.Run(s.name+"_"+language, func(t *testing.T) {
				tab := open(t, s)
				tab.visit(page + "?lang=" + language)
				ids := get(tab, chromedp.AttributesAll(chromedp.CSSAll(`input[name=method][type=radio]`)))
				for _, i := range []int{0, len(ids) / 2, len(ids) - 1} {
					tab.click(fmt.Sprintf("label[for=%q]", ids[i]["id"]))
					get(tab, chromedp.Evaluate[any](`scrollTo({top: 0, behavior: "instant"})`))
					tab.do(chromedp.Reload())
					tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
					want := ids[i]["value"] + " visible 0 0"
					if got := get(tab, chromedp.Evaluate[string](position)); got != want {
						t.Errorf("after a reload the chosen method is %q, want %q", got, want)
					}
				}
				tab.checkConsole()
			})
		}
	}
}
