package desk

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
)

// cookieName returns the name of the session's cookie. Browsers accept a name with __Host- only from
// the host itself over https, so that no other host can set it.
func (h *Desk) cookieName() string {
	if h.Accounts.Site.Secure {
		return "__Host-desk"
	}
	return "desk"
}

func (h *Desk) cookie(token string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: h.cookieName(), Value: token, Path: "/", MaxAge: maxAge, Secure: h.Accounts.Site.Secure, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, // links to invoices are shared in messages
	}
}

// cookieAge is the time in seconds after which a browser forgets the cookie. The session ends earlier.
const cookieAge = 14 * 24 * 60 * 60

func (h *Desk) setSession(c echo.Context, in account.SignedIn) {
	c.SetCookie(h.cookie(in.Token, cookieAge))
}

func (h *Desk) forgetSession(c echo.Context) { c.SetCookie(h.cookie("", -1)) }

// sessionToken returns the token of the request's session; "" if there is none.
func (h *Desk) sessionToken(c echo.Context) string {
	cookie, err := c.Cookie(h.cookieName())
	if err != nil {
		return ""
	}
	return cookie.Value
}

// former returns the hash of the session that a sign-in replaces; "" if there is none.
func (h *Desk) former(c echo.Context) string {
	if token := h.sessionToken(c); token != "" {
		return account.HashToken(token)
	}
	return ""
}

// formToken returns the token that the forms of a session send. It proves that a form is from a page
// of the session.
func formToken(sessionToken string) string {
	mac := hmac.New(sha256.New, []byte(sessionToken))
	mac.Write([]byte("desk form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// client returns the browser of a request.
func client(c echo.Context) account.Client {
	return account.Client{Address: c.RealIP(), Browser: browser(c.Request().UserAgent())}
}

// browsers and systems are parts of the User-Agent header, in the order in which they decide, with the
// names that lists show.
var (
	browsers = [][2]string{{"Edg/", "Edge"}, {"EdgA/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}}
	systems  = [][2]string{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}}
)

// browser returns a short description of a User-Agent header: "Firefox on Linux".
func browser(agent string) string {
	name, system := "Browser", ""
	for _, b := range browsers {
		if strings.Contains(agent, b[0]) {
			name = b[1]
			break
		}
	}
	for _, s := range systems {
		if strings.Contains(agent, s[0]) {
			system = " on " + s[1]
			break
		}
	}
	return name + system
}
