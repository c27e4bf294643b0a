package app

import (
	"log/slog"
	"net/http"
	"regexp"
	"sync"

	"chequer/internal/greenfield"
	"chequer/internal/httpapi"
	"chequer/internal/server"
	"chequer/web/desk"
)

// handlers are the handlers of the parts of a server.
type handlers struct{ service, plugins, pages, desk, ready http.Handler }

// routes sends the paths of the API to the service, those of the API of plug-ins to plugins, those of the desk to the desk, /readyz to the
// readiness handler, and every other path to the pages. Repeated slashes count as one, because some clients send them. The
// service also answers API paths outside the base path, so that a client of the API gets its errors
// as JSON. The first request with another base path is logged.
func routes(basePath string, to handlers, log *slog.Logger) http.Handler {
	var once sync.Once
	to.pages, to.desk = httpapi.WithoutRepeatedSlashes(to.pages), httpapi.WithoutRepeatedSlashes(to.desk)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if below, misplaced := misplacedBelow(r.URL.Path, basePath); misplaced {
			once.Do(func() {
				log.Warn("request outside the base path: a proxy strips the path, or CHEQUER_BASE_URL is wrong",
					"received_below", below, "served_below", basePath+"/")
			})
		}
		switch {
		case greenfield.Owns(r.URL.Path, basePath):
			to.plugins.ServeHTTP(w, r)
		case server.Owns(r.URL.Path, basePath), server.Owns(r.URL.Path, ""):
			to.service.ServeHTTP(w, r)
		case desk.Owns(r.URL.Path, basePath):
			to.desk.ServeHTTP(w, r)
		case r.URL.Path == basePath+"/readyz":
			to.ready.ServeHTTP(w, r)
		default:
			to.pages.ServeHTTP(w, r)
		}
	})
}

// ownPath matches a path that only this program serves, with the base path before it.
var ownPath = regexp.MustCompile(`^((?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}){0,4}?)/(?:api/v2/|v2/invoice/|invoice/[A-Za-z0-9]{32}|static/[a-z]+\.[0-9a-f]{12}\.|readyz$)`)

// misplacedBelow reports whether a path belongs to this program but has another base path, and
// returns that base path.
func misplacedBelow(path, basePath string) (string, bool) {
	if path == "/" {
		return "/", basePath != ""
	}
	found := ownPath.FindStringSubmatch(path)
	if found == nil || found[1] == basePath {
		return "", false
	}
	return found[1] + "/", true
}
