package developers

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/greenfield"
	"chequer/internal/merchant"
)

// Bounds of the request of a plug-in.
const (
	maxPluginQuery = 8 << 10 // bytes
	maxPermissions = 20
	maxParameter   = 200 // characters of a parameter other than the address
	maxShownValue  = 60  // characters of a refused value that the page shows
)

// The parameters of the request of a plug-in. See internal/greenfield/CONTRACT.md, section 6.
const (
	permissionsParameter = "permissions"
	nameParameter        = "applicationName"
	identifierParameter  = "applicationIdentifier"
	strictParameter      = "strict"
	selectiveParameter   = "selectiveStores" // has no effect: a key belongs to one store
	redirectParameter    = "redirect"
)

var pluginParameters = []string{permissionsParameter, nameParameter, identifierParameter, strictParameter, selectiveParameter, redirectParameter}

// pluginRequest is the request of a shop plug-in for a key.
type pluginRequest struct {
	query    string           // the parameters, in a fixed order
	name     string           // name that the plug-in gives itself; "" if it has none
	plugin   string           // name of a merchant.Plugin
	scopes   []merchant.Scope // requested scopes, in the order of the request
	dropped  []string         // unknown permissions, which the key does not get
	redirect *url.URL         // address of the web shop that receives the key; nil if the key is shown
}

// pluginFault is the reason why the request of a plug-in cannot be served.
type pluginFault struct {
	parameter string // "" if the fault is of the whole request
	fault     string // follows the name of the parameter
}

// Error implements error.
func (f *pluginFault) Error() string {
	if f.parameter == "" {
		return "The request " + f.fault
	}
	return "The parameter " + f.parameter + " " + f.fault
}

// parsePluginRequest parses the query of a request for a key. The errors are *pluginFault.
func parsePluginRequest(query string) (r pluginRequest, err error) {
	if len(query) > maxPluginQuery {
		return r, &pluginFault{fault: fmt.Sprintf("must have at most %d bytes", maxPluginQuery)}
	}
	given, err := url.ParseQuery(query)
	if err != nil {
		return r, &pluginFault{fault: "has a malformed query"}
	}
	known := url.Values{}
	for _, name := range pluginParameters {
		if len(given[name]) > 0 {
			known[name] = given[name]
		}
		if len(given[name]) > 1 && name != permissionsParameter {
			return r, &pluginFault{name, "must not be repeated"}
		}
	}
	r.query = known.Encode()
	if r.name, err = parseApplication(known); err != nil {
		return r, err
	}
	r.plugin = merchant.PluginNamed(r.name + " " + known.Get(identifierParameter)).Name
	if r.redirect, err = parseRedirect(known.Get(redirectParameter)); err != nil {
		return r, err
	}
	return r, r.parsePermissions(known[permissionsParameter], known.Get(strictParameter))
}

// parseApplication checks the name and the identifier of the plug-in, and returns the name.
func parseApplication(known url.Values) (string, error) {
	for _, name := range []string{nameParameter, identifierParameter} {
		if err := merchant.CheckLine(known.Get(name), maxParameter); err != nil {
			return "", &pluginFault{name, err.Error()}
		}
	}
	return strings.TrimSpace(known.Get(nameParameter)), nil
}

// parseRedirect returns the address of the web shop; nil for an empty text.
func parseRedirect(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := merchant.ParseConnectURL(text)
	if err != nil {
		return nil, &pluginFault{redirectParameter, err.Error()}
	}
	return u, nil
}

// parsePermissions sets the requested scopes and the dropped permissions. An unknown permission is an error unless strict is
// false.
func (r *pluginRequest) parsePermissions(permissions []string, strict string) error {
	isStrict := true
	if strict != "" {
		var err error
		if isStrict, err = strconv.ParseBool(strings.ToLower(strict)); err != nil {
			return &pluginFault{strictParameter, "must be true or false"}
		}
	}
	if len(permissions) > maxPermissions {
		return &pluginFault{permissionsParameter, fmt.Sprintf("must have at most %d values", maxPermissions)}
	}
	for _, permission := range permissions {
		scope, known := greenfield.ParsePermission(permission)
		switch {
		case !known && isStrict:
			return &pluginFault{permissionsParameter, "must not contain " + shortened(permission) + ", which this server does not grant"}
		case !known:
			r.dropped = append(r.dropped, shortened(permission))
		case !slices.Contains(r.scopes, scope):
			r.scopes = append(r.scopes, scope)
		}
	}
	if len(r.scopes) == 0 {
		return &pluginFault{permissionsParameter, "must contain a permission that this server grants"}
	}
	return nil
}

// shortened returns a text of another site as the page shows it: quoted, and at most maxShownValue characters.
func shortened(text string) string {
	runes := []rune(text)
	if len(runes) > maxShownValue {
		runes = append(runes[:maxShownValue], '…')
	}
	return strconv.Quote(string(runes))
}

// origin returns the origin of the redirect address.
func (r pluginRequest) origin() string { return r.redirect.Scheme + "://" + r.redirect.Host }
