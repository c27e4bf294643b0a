package desk_test

import (
	"bytes"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"chequer/internal/account"
	"chequer/internal/theme"
)

// currentTheme returns the theme of the shop.
func (f *fixture) currentTheme() theme.Theme {
	f.t.Helper()
	t, err := f.storage.Theme(f.t.Context(), shop)
	f.must(err)
	return t
}

// upload sends a form with a file, as a browser does.
func (b *browser) upload(path, field string, file []byte, pairs ...string) page {
	b.fixture.t.Helper()
	return b.uploadForm(path, field, file, append(pairs, "form", b.formToken())...)
}

// uploadForm is upload with a form that contains its token.
func (b *browser) uploadForm(path, field string, file []byte, pairs ...string) page {
	b.fixture.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, values := range values(pairs...) {
		for _, value := range values {
			b.fixture.must(form.WriteField(name, value))
		}
	}
	part, err := form.CreateFormFile(field, "logo.png")
	b.fixture.must(err)
	_, err = part.Write(file)
	b.fixture.must(err)
	b.fixture.must(form.Close())
	r := httptest.NewRequestWithContext(b.fixture.t.Context(), http.MethodPost, path, &body)
	r.Host = b.host
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", site)
	r.Header.Set("Content-Type", form.FormDataContentType())
	for _, c := range b.cookies {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	w := httptest.NewRecorder()
	b.fixture.desk.ServeHTTP(w, r)
	return page{t: b.fixture.t, status: w.Code, header: w.Header(), body: w.Body.String()}
}

func square(t *testing.T) []byte {
	t.Helper()
	return picture(t, 64)
}

// picture returns a square picture.
func picture(t *testing.T, side int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, side, side))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTheme_is_previewed_and_saved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	const at = "/desk/shop/theme"
	b.get(at).want(http.StatusOK, "Shop name", "Preview")
	entered := []string{"name", "Nord & Sons", "accent", "#0A7D5A", "line", "Prints", "support", "help@shop.example", "terms", "https://shop.example/terms"}

	shown := b.send(at, append(entered, "action", "preview")...).want(http.StatusOK, "These values are not saved", "In the light scheme links are #017a57")
	if _, err := f.storage.Theme(t.Context(), shop); err == nil {
		t.Error("the preview was saved")
	}
	sample := b.framed(shown).want(http.StatusOK, "Nord & Sons", "€120.00", "Prints", "help@shop.example", "Return to Nord & Sons")
	style := b.get(sample.attribute("link[rel=stylesheet]", "href")).want(http.StatusOK)
	if !strings.Contains(style.body, ":root{--accent:#0a7d5a;") {
		t.Error("the style sheet of the preview does not have the accent")
	}

	b.send(at, entered...).wantRedirect(at + "?done=theme")
	want := theme.Theme{Name: "Nord & Sons", Accent: "#0a7d5a", Line: "Prints", Support: "mailto:help@shop.example", Terms: "https://shop.example/terms", Stay: true}
	first := f.currentTheme()
	if first.Hash() != want.Hash() {
		t.Errorf("got theme %+v, want %+v", first, want)
	}
	b.upload(at, "logo", square(t), append(entered, "return", "yes", "replaces", first.Hash())...).wantRedirect(at + "?done=theme")
	second := f.currentTheme()
	if len(second.Logo.Body) == 0 || second.Stay {
		t.Errorf("got theme %+v, want a logo and the automatic return", second)
	}
	b.upload(at, "logo", nil, append(entered, "replaces", second.Hash())...).wantRedirect(at + "?done=theme")
	third := f.currentTheme()
	if !bytes.Equal(third.Logo.Body, second.Logo.Body) {
		t.Error("a form without a file has removed the logo")
	}
	b.upload(at, "logo", nil, append(entered, "remove", "yes", "replaces", third.Hash())...).wantRedirect(at + "?done=theme")
	if got := f.currentTheme(); len(got.Logo.Body) != 0 {
		t.Error("the logo was not removed")
	}
}

// The form has values that a theme cannot have.
func TestTheme_refuses_values_and_keeps_them_in_the_form(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	const at = "/desk/shop/theme"
	for field, value := range map[string]string{"name": strings.Repeat("a", 65), "accent": "greenish", "line": "two\nlines", "support": "nothing", "terms": "javascript:alert(1)"} {
		for _, action := range []string{"save", "preview"} {
			got := b.send(at, field, value, "action", action).want(http.StatusUnprocessableEntity)
			if text := got.find("#" + field + "-error").Text(); text == "" {
				t.Errorf("%s, %s: there is no error at the field: %s", action, field, got.text())
			}
			if kept, _ := got.find("#" + field).Attr("value"); strings.TrimSpace(kept) != strings.TrimSpace(value) {
				t.Errorf("%s, %s: the page keeps %q, want %q", action, field, kept, value)
			}
		}
	}
	b.send(at, "name", strings.Repeat("a", 65), "accent", "red", "action", "preview").want(http.StatusUnprocessableEntity)
	got := b.upload(at, "logo", []byte("not a picture"), "name", "Nord").want(http.StatusUnprocessableEntity)
	if text := got.find("#logo-error").Text(); text == "" {
		t.Errorf("there is no error at the logo: %s", got.text())
	}
	b.upload(at, "logo", bytes.Repeat([]byte("a"), 2<<20), "name", "Nord").want(http.StatusRequestEntityTooLarge)
	if _, err := f.storage.Theme(t.Context(), shop); err == nil {
		t.Error("a theme was saved")
	}
}

// TestTheme_changed_in_the_meantime saves the form of an older theme.
func TestTheme_changed_in_the_meantime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	const at = "/desk/shop/theme"
	b.send(at, "name", "First", "return", "yes").wantRedirect(at + "?done=theme")
	got := b.send(at, "name", "Second", "return", "yes").want(http.StatusConflict, "was changed in the meantime", "Shop name is now “First”")
	if f.currentTheme().Name != "First" {
		t.Error("the theme was replaced without its values shown")
	}
	if kept, _ := got.find("#name").Attr("value"); kept != "Second" {
		t.Errorf("the page keeps %q, want Second", kept)
	}
	replaces, _ := got.find(`input[name="replaces"]`).Attr("value")
	b.send(at, "name", "Second", "return", "yes", "replaces", replaces).wantRedirect(at + "?done=theme")
}

// framed returns the page in the frame of a page.
func (b *browser) framed(p page) page {
	b.fixture.t.Helper()
	return b.get(p.attribute(".framed iframe", "src"))
}

// attribute returns an attribute of the only element that a selector matches.
func (p page) attribute(selector, name string) string {
	p.t.Helper()
	value, found := p.find(selector).Attr(name)
	if n := p.find(selector).Length(); n != 1 || !found {
		p.t.Fatalf("%d elements match %q, and the attribute %s is present: %t", n, selector, name, found)
	}
	return value
}

// The page in the frame has no address, no form and no script, and only pages of this site may show it in a frame.
func TestTheme_preview_is_harmless(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	form := b.get("/desk/shop/theme").want(http.StatusOK)
	if policy := form.header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-src 'self'") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("the policy of the form is %q, want frame-src 'self' and frame-ancestors 'none'", policy)
	}
	if got := form.attribute(".framed iframe", "sandbox"); got != "allow-same-origin" {
		t.Errorf("the sandbox of the frame is %q, want allow-same-origin", got)
	}
	sample := b.framed(form).want(http.StatusOK, "Atelier Nord")
	policy := sample.header.Get("Content-Security-Policy")
	for _, part := range []string{"frame-ancestors 'self'", "form-action 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy of the preview is %q, want %s", policy, part)
		}
	}
	if strings.Contains(policy, "script-src") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy of the preview allows scripts: %q", policy)
	}
	if got := sample.header.Get("X-Frame-Options"); got != "SAMEORIGIN" {
		t.Errorf("X-Frame-Options is %q, want SAMEORIGIN", got)
	}
	if n := sample.find("script, form, .addr, .qr, button").Length(); n != 0 {
		t.Errorf("the preview has %d scripts, forms or addresses", n)
	}
	sample.find("a[href]").Each(func(_ int, link *selection) {
		if href, _ := link.Attr("href"); strings.HasPrefix(href, "/") {
			t.Errorf("the preview links to %q", href)
		}
	})
	if other := b.get("/desk/shop/theme/preview/0123456789abcdef01234567"); other.status != http.StatusNotFound || !strings.Contains(other.header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("another preview: %d, %q", other.status, other.header.Get("Content-Security-Policy"))
	}
}

// A preview belongs to the session that has entered it, and to its shop.
func TestTheme_preview_of_another_session(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b, tove := f.owner(), f.as("Tove", account.Manager)
	address := b.send("/desk/shop/theme", "name", "Secret", "action", "preview").attribute(".framed iframe", "src")
	b.get(address).want(http.StatusOK, "Secret")
	tove.get(address).want(http.StatusNotFound)
	b.get(strings.Replace(address, "/shop/", "/other/", 1)).want(http.StatusNotFound)
}

// A logo that was chosen for a preview is shown and can be saved without choosing it again.
func TestTheme_preview_of_a_logo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	const at = "/desk/shop/theme"
	shown := b.upload(at, "logo", square(t), "name", "Nord", "return", "yes", "action", "preview").want(http.StatusOK)
	draft := shown.attribute("input[name=draft]", "value")
	logo := b.get(b.framed(shown).attribute("img.mark", "src")).want(http.StatusOK)
	if got := logo.header.Get("Content-Type"); got != "image/png" || !strings.Contains(logo.header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the logo of the preview has the type %q and the policy %q", got, logo.header.Get("Content-Security-Policy"))
	}
	for _, action := range []string{"save", "preview"} {
		b.send(at, "name", "Nord", "draft", "0123456789abcdef01234567", "action", action).want(http.StatusUnprocessableEntity, "must be chosen again")
	}
	b.send(at, "name", "Nord", "return", "yes", "draft", draft).wantRedirect(at + "?done=theme")
	if got := f.currentTheme().Logo.Body; string(got) != logo.body {
		t.Errorf("the saved logo has %d bytes, that of the preview %d", len(got), len(logo.body))
	}
	saved := b.get(at)
	if got := saved.attribute("input[name=draft]", "value"); got != "" {
		t.Errorf("the draft is %q, want none", got)
	}
	removed := b.send(at, "name", "Nord", "remove", "yes", "action", "preview").want(http.StatusOK)
	if n := removed.find("input[name=remove][checked]").Length(); n != 1 {
		t.Error("the form does not keep that the logo is removed")
	}
	if n := b.framed(removed).find("img.mark").Length(); n != 0 {
		t.Error("the preview shows the logo that is removed")
	}
	refused := b.send(at, "name", "Nord", "accent", "greenish", "action", "preview").want(http.StatusUnprocessableEntity, "The preview shows the saved theme.")
	b.framed(refused).want(http.StatusOK, "Nord")
}

// The number of kept previews of a session is limited.
func TestTheme_previews_are_bounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	var addresses []string
	for i := range 9 {
		addresses = append(addresses, b.send("/desk/shop/theme", "name", "Nord "+strconv.Itoa(i), "action", "preview").attribute(".framed iframe", "src"))
	}
	b.get(addresses[0]).want(http.StatusNotFound)
	for _, address := range addresses[1:] {
		b.get(address).want(http.StatusOK)
	}
}
