package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/programtest"
)

// session is a window of a browser other than Chromium, controlled by WebDriver commands (W3C,
// "WebDriver", section 7 and following).
type session struct {
	t *testing.T
	// send runs a command and returns its value. WebDriver identifies commands by method and path,
	// Marionette by name.
	send func(c command, arguments map[string]any) (json.RawMessage, error)
}

// command is a WebDriver command. {id} in its path is an element's id.
type command struct{ name, method, path string }

var (
	newSession      = command{"NewSession", "POST", ""}
	navigateTo      = command{"Navigate", "POST", "/url"}
	goBack          = command{"Back", "POST", "/back"}
	goForward       = command{"Forward", "POST", "/forward"}
	setWindowRect   = command{"SetWindowRect", "POST", "/window/rect"}
	findElement     = command{"FindElement", "POST", "/element"}
	elementClick    = command{"ElementClick", "POST", "/element/{id}/click"}
	elementShot     = command{"TakeScreenshot", "GET", "/element/{id}/screenshot"}
	executeScript   = command{"ExecuteScript", "POST", "/execute/sync"}
	elementIDPrefix = "element-6066-11e4-a52e-4f735466cecf" // section 12, "Elements"
)

// openFirefox starts headless Firefox and opens a window of a phone's width.
func openFirefox(t *testing.T) *session {
	t.Helper()
	programtest.RequireProgram(t, "firefox-esr")
	profile, err := os.MkdirTemp("", "firefox") //nolint:usetesting // Firefox may still write to it when the test ends
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	port, err := programtest.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	preferences := map[string]any{
		"marionette.port": port, "remote.prefs.recommended": true, "network.captive-portal-service.enabled": false,
		"network.connectivity-service.enabled": false, "app.update.disabledForTesting": true, "browser.shell.checkDefaultBrowser": false,
		"datareporting.policy.dataSubmissionEnabled": false, "toolkit.telemetry.enabled": false, "dom.events.testing.asyncClipboard": true,
	}
	var file bytes.Buffer
	for name, value := range preferences {
		encoded, _ := json.Marshal(value)
		fmt.Fprintf(&file, "user_pref(%q, %s);\n", name, encoded)
	}
	if err := os.WriteFile(filepath.Join(profile, "user.js"), file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	browser := exec.Command("firefox-esr", "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", profile)
	browser.Env = append(os.Environ(), "HOME="+profile, "XDG_CACHE_HOME="+profile, "MOZ_CRASHREPORTER_DISABLE=1")
	launch(t, browser)
	conn := dial(t, port)
	m := &marionette{conn: conn, reader: bufio.NewReader(conn)}
	if _, err := m.read(); err != nil { // the server's greeting
		t.Fatal(err)
	}
	s := &session{t: t, send: m.send}
	s.start()
	return s
}

// openWebKit starts WebKit's test browser on a virtual screen.
func openWebKit(t *testing.T) *session {
	t.Helper()
	programtest.RequireProgram(t, "WebKitWebDriver")
	programtest.RequireProgram(t, "Xvfb")
	display := ":" + strconv.Itoa(100+os.Getpid()%10_000)
	launch(t, exec.Command("Xvfb", display, "-screen", "0", "1280x1024x24", "-nolisten", "tcp"))
	until(t, waitTimeout, "the virtual screen is ready", func() bool {
		_, err := os.Stat("/tmp/.X11-unix/X" + display[1:])
		return err == nil
	})
	port, err := programtest.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	driver := exec.Command("WebKitWebDriver", "--host=127.0.0.1", "--port="+strconv.Itoa(port))
	driver.Env = append(os.Environ(), "DISPLAY="+display, "HOME="+home, "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home, "GDK_BACKEND=x11",
		"WEBKIT_DISABLE_COMPOSITING_MODE=1", "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS=1", "LIBGL_ALWAYS_SOFTWARE=1", "NO_AT_BRIDGE=1")
	launch(t, driver)
	_ = dial(t, port).Close()
	w := &webDriver{base: fmt.Sprintf("http://127.0.0.1:%d/session", port)}
	s := &session{t: t, send: w.send}
	s.start()
	t.Cleanup(func() { _, _ = w.request("DELETE", w.base, nil) }) // closes the window
	return s
}

// launch starts a program that is killed when the test ends.
func launch(t *testing.T, c *exec.Cmd) {
	t.Helper()
	p, err := programtest.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
}

// dial connects to a port of this machine as soon as a program listens on it.
func dial(t *testing.T, port int) net.Conn {
	t.Helper()
	var conn net.Conn
	until(t, waitTimeout, "the browser is listening", func() (ok bool) {
		var err error
		conn, err = net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		return err == nil
	})
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// marionette is a client of Firefox's own protocol: JSON messages, each preceded by its length and
// a colon (Firefox Source Docs, "Marionette", "Protocol").
type marionette struct {
	conn   net.Conn
	reader *bufio.Reader
	last   int // number of the last command
}

// read reads a message.
func (m *marionette) read() (json.RawMessage, error) {
	length, err := m.reader.ReadString(':')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(length, ":"))
	if err != nil {
		return nil, err
	}
	message := make([]byte, n)
	_, err = io.ReadFull(m.reader, message)
	return message, err
}

// send implements session.send.
func (m *marionette) send(c command, arguments map[string]any) (json.RawMessage, error) {
	m.last++
	message, err := json.Marshal([]any{0, m.last, "WebDriver:" + c.name, arguments})
	if err != nil {
		return nil, err
	}
	if err := m.conn.SetDeadline(time.Now().Add(waitTimeout)); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(m.conn, "%d:%s", len(message), message); err != nil {
		return nil, err
	}
	reply, err := m.read()
	if err != nil {
		return nil, err
	}
	var parts [4]json.RawMessage // kind, number, error, result
	if err := json.Unmarshal(reply, &parts); err != nil {
		return nil, err
	}
	if string(parts[2]) != "null" {
		return nil, fmt.Errorf("%s: %s", c.name, parts[2])
	}
	var wrapped struct{ Value json.RawMessage }
	if json.Unmarshal(parts[3], &wrapped) == nil && wrapped.Value != nil {
		return wrapped.Value, nil
	}
	return parts[3], nil
}

// webDriver is a client of the standard protocol.
type webDriver struct {
	base string // the address of the session, or of all sessions before it begins
}

// send implements session.send.
func (w *webDriver) send(c command, arguments map[string]any) (json.RawMessage, error) {
	path := c.path
	if id, ok := arguments["id"].(string); ok && strings.Contains(path, "{id}") {
		path = strings.Replace(path, "{id}", id, 1)
	}
	if c == newSession {
		arguments = map[string]any{"capabilities": map[string]any{"alwaysMatch": arguments}}
	}
	value, err := w.request(c.method, w.base+path, arguments)
	if c == newSession && err == nil {
		var created struct{ SessionID string }
		err = json.Unmarshal(value, &created)
		w.base += "/" + created.SessionID
	}
	return value, err
}

// request sends a request and returns the value of the response.
func (w *webDriver) request(method, url string, arguments map[string]any) (json.RawMessage, error) {
	var body io.Reader
	if method == "POST" {
		encoded, err := json.Marshal(arguments)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequest(method, url, body)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Timeout: waitTimeout}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var result struct{ Value json.RawMessage }
	if err := json.NewDecoder(resp.Body).Decode(&result); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s", method, url, result.Value)
	}
	return result.Value, nil
}

// must does the same as run, and ends the test if the command fails.
func (s *session) must(c command, arguments map[string]any, target any) {
	s.t.Helper()
	if err := s.run(c, arguments, target); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a command and decodes its value into target, unless that is nil.
func (s *session) run(c command, arguments map[string]any, target any) error {
	if arguments == nil {
		arguments = map[string]any{}
	}
	value, err := s.send(c, arguments)
	if err != nil || target == nil {
		return err
	}
	return json.Unmarshal(value, target)
}

// start opens a window with a width of 440 CSS pixels. Both browsers refuse smaller windows.
func (s *session) start() {
	s.t.Helper()
	s.must(newSession, nil, nil)
	s.must(setWindowRect, map[string]any{"x": 0, "y": 0, "width": 500, "height": 900}, nil)
}

// visit loads a page.
func (s *session) visit(url string) {
	s.t.Helper()
	s.must(navigateTo, map[string]any{"url": url}, nil)
}

// script returns the value of an expression of JavaScript.
func (s *session) script(expression string) (value any) {
	s.t.Helper()
	s.must(executeScript, map[string]any{"script": "return " + expression, "args": []any{}}, &value)
	return value
}

// text returns the text of the first matching element, or "" if there is none.
func (s *session) text(selector string) string {
	s.t.Helper()
	text, _ := s.script(fmt.Sprintf(`(e => e ? e.textContent : "")(document.querySelector(%q))`, selector)).(string)
	return text
}

// element returns the id of the first matching element.
func (s *session) element(selector string) (id string, err error) {
	var found map[string]string
	if err := s.run(findElement, map[string]any{"using": "css selector", "value": selector}, &found); err != nil {
		return "", err
	}
	return found[elementIDPrefix], nil
}

// click clicks an element, and tries again if the live part of the page is replaced meanwhile.
func (s *session) click(selector string) {
	s.t.Helper()
	var err error
	until(s.t, waitTimeout, "a click on "+selector, func() bool {
		var id string
		if id, err = s.element(selector); err == nil {
			err = s.run(elementClick, map[string]any{"id": id}, nil)
		}
		return err == nil || s.t.Context().Err() != nil
	})
}

// waitFor waits until an element's text contains words.
func (s *session) waitFor(selector, want string) {
	s.t.Helper()
	until(s.t, waitTimeout, selector+" has the text "+want, func() bool { return strings.Contains(s.text(selector), want) })
}

// shot returns a screenshot of an element.
func (s *session) shot(selector string) image.Image {
	s.t.Helper()
	id, err := s.element(selector)
	if err != nil {
		s.t.Fatal(err)
	}
	var encoded string
	s.must(elementShot, map[string]any{"id": id, "full": false, "hash": false}, &encoded)
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		s.t.Fatal(err)
	}
	picture, _, err := image.Decode(bytes.NewReader(decoded))
	if err != nil {
		s.t.Fatal(err)
	}
	return picture
}
