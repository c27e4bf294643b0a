package visit

import (
	"net/http"

	"chequer/internal/account"
)

// cookieName returns the name of the session's cookie. Browsers accept a name with __Host- only from
// the host itself over https, so that no other host can set it.
func (s *Site) cookieName() string {
	if s.Accounts.Site.Secure {
		return "__Host-desk"
	}
	return "desk"
}

// cookie returns the cookie of a session. maxAge is in seconds; a negative value makes the browser delete the cookie.
func (s *Site) cookie(token string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(), Value: token, Path: "/", MaxAge: maxAge, Secure: s.Accounts.Site.Secure, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, // links to invoices are shared in messages
	}
}

// cookieAge is the time in seconds after which a browser forgets the cookie. The session ends earlier.
const cookieAge = 14 * 24 * 60 * 60

// SetSession sends the cookie of the session of a sign-in to the browser.
func (v *Visit) SetSession(in account.SignedIn) { v.SetCookie(v.cookie(in.Token, cookieAge)) }

// ForgetSession makes the browser delete the cookie of the session.
func (v *Visit) ForgetSession() { v.SetCookie(v.cookie("", -1)) }

// SessionToken returns the token of the request's session; "" if there is none.
func (v *Visit) SessionToken() string {
	cookie, err := v.Cookie(v.cookieName())
	if err != nil {
		return ""
	}
	return cookie.Value
}

// FormerSession returns the hash of the session that a sign-in replaces; "" if there is none.
func (v *Visit) FormerSession() string {
	if token := v.SessionToken(); token != "" {
		return account.HashToken(token)
	}
	return ""
}

// Client returns the browser of a request.
func (v *Visit) Client() account.Client {
	return account.Client{Address: v.RealIP(), Browser: browser(v.Request().UserAgent())}
}
