package desk_test

import (
	"bytes"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

func TestTheme(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	const at = "/desk/shop/theme"
	b.get(at).want(http.StatusOK, "Shop name", "Preview")
	entered := []string{"name", "Nord & Sons", "accent", "#0A7D5A", "line", "Prints", "support", "help@shop.example", "terms", "https://shop.example/terms"}

	shown := b.send(at, append(entered, "action", "preview")...).want(http.StatusOK, "These values are not saved", "In the light scheme links are #017a57", "Nord & Sons")
	if href, _ := shown.find("main link").Attr("href"); href != "/desk/shop/theme/preview.css?accent=0a7d5a" {
		t.Errorf("the style of the preview is at %q", href)
	}
	if _, err := f.storage.Theme(t.Context(), shop); err == nil {
		t.Error("the preview was saved")
	}
	style := b.get("/desk/shop/theme/preview.css?accent=0a7d5a")
	if !strings.HasPrefix(style.body, ".mini{--accent:#0a7d5a;") || strings.Contains(style.body, ":root") {
		t.Errorf("the style of the preview is %q", style.body)
	}
	b.get("/desk/shop/theme/preview.css?accent=red%7D").want(http.StatusNotFound)

	b.send(at, entered...).leads(at + "?done=theme")
	want := theme.Theme{Name: "Nord & Sons", Accent: "#0a7d5a", Line: "Prints", Support: "mailto:help@shop.example", Terms: "https://shop.example/terms", Stay: true}
	first := f.currentTheme()
	if first.Hash() != want.Hash() {
		t.Errorf("got theme %+v, want %+v", first, want)
	}
	b.upload(at, "logo", square(t), append(entered, "return", "yes", "replaces", first.Hash())...).leads(at + "?done=theme")
	second := f.currentTheme()
	if len(second.Logo.Body) == 0 || second.Stay {
		t.Errorf("got theme %+v, want a logo and the automatic return", second)
	}
	b.upload(at, "logo", nil, append(entered, "replaces", second.Hash())...).leads(at + "?done=theme")
	third := f.currentTheme()
	if !bytes.Equal(third.Logo.Body, second.Logo.Body) {
		t.Error("a form without a file has removed the logo")
	}
	b.upload(at, "logo", nil, append(entered, "remove", "yes", "replaces", third.Hash())...).leads(at + "?done=theme")
	if got := f.currentTheme(); len(got.Logo.Body) != 0 {
		t.Error("the logo was not removed")
	}
}

// TestTheme_refused enters values that a theme cannot have.
func TestTheme_refused(t *testing.T) {
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
	b.send(at, "name", "First", "return", "yes").leads(at + "?done=theme")
	got := b.send(at, "name", "Second", "return", "yes").want(http.StatusConflict, "was changed in the meantime", "Shop name is now “First”")
	if f.currentTheme().Name != "First" {
		t.Error("the theme was replaced without its values shown")
	}
	if kept, _ := got.find("#name").Attr("value"); kept != "Second" {
		t.Errorf("the page keeps %q, want Second", kept)
	}
	replaces, _ := got.find(`input[name="replaces"]`).Attr("value")
	b.send(at, "name", "Second", "return", "yes", "replaces", replaces).leads(at + "?done=theme")
}
