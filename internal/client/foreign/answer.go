package foreign

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/internal/client"
)

var (
	tagPattern  = regexp.MustCompile(`^[!-~]+$`)
	codePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	// themePattern matches the result of theme.Theme.Hash.
	themePattern = regexp.MustCompile(`^[0-9a-f]{24}$`)
)

// cleanError returns an error with its message as one line of bounded length, and without an invalid
// code.
func cleanError(err error) error {
	if apiErr, ok := errors.AsType[*client.Error](err); ok {
		apiErr.Code = checkedCode(apiErr.Code)
		apiErr.Message = cmp.Or(strings.TrimSpace(cleaned(apiErr.Message, maxMessage)), http.StatusText(apiErr.Status))
	}
	return err
}

// checkedTag returns a valid ETag unchanged, and otherwise an ETag computed from the resource.
func checkedTag(tag string, r api.Resource) string {
	if len(tag) > maxETag || !tagPattern.MatchString(tag) {
		return etagOf(r)
	}
	return tag
}

// checkedCode returns the code of an error, or "" if it is invalid.
func checkedCode(code string) string {
	if len(code) > maxWord || !codePattern.MatchString(code) {
		return ""
	}
	return code
}

// checkedOffset returns the offset of the service's clock, limited to maxOffset and rounded to seconds.
func checkedOffset(d time.Duration) time.Duration {
	return max(-maxOffset, min(d, maxOffset)).Round(time.Second)
}

// checkedTheme returns the hash of a theme, or "" if it is invalid.
func checkedTheme(hash string) string {
	if !themePattern.MatchString(hash) {
		return ""
	}
	return hash
}
