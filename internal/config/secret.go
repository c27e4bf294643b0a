package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Settings with passwords or keys are parsed when they are loaded, by functions that return no
// error texts, because the errors of parsers quote parts of their input.

// isDatabaseURL reports whether text is the address of a database. If a password contains an unescaped
// character, a parser may read part of it as a port, a path, a query or a fragment; such addresses
// are refused.
func isDatabaseURL(text string) bool {
	if !databaseURL.MatchString(text) {
		return false
	}
	if strings.HasPrefix(text, "sqlite:") {
		return true
	}
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" || strings.Contains(text, "#") {
		return false
	}
	if u.User == nil && strings.Contains(text, "@") || strings.Contains(u.Host, "@") {
		return false
	}
	_, err = url.ParseQuery(u.RawQuery)
	return err == nil
}

// proxyVariables are the variables from which net/http reads the addresses of proxies.
var proxyVariables = []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"}

// checkProxies returns the faults of the variables of an environment that name proxies. Otherwise
// net/http would quote a wrong address in the error of every request.
func checkProxies(environ []string) []error {
	var errs []error
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || !slices.Contains(proxyVariables, name) {
			continue
		}
		u, err := url.Parse(value)
		if err != nil || u.Scheme == "" || u.Host == "" { // net/http accepts an address without a scheme
			u, err = url.Parse("http://" + value)
		}
		if err != nil || u.Host == "" || u.Fragment != "" || u.User == nil && strings.Contains(value, "@") {
			errs = append(errs, fmt.Errorf("%s: must be the address of a proxy such as http://user:password@127.0.0.1:8080, with %% and two hexadecimal digits for each of / ? # %% @ : in user and password", name))
		}
	}
	return errs
}
