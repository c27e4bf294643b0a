package views

import (
	"context"
	"html"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// Groups renders groups as elements without a space between them. A template would write a space,
// which would be copied with the text.
func Groups(parts []Group) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		if len(parts) == 1 {
			_, err := io.WriteString(w, html.EscapeString(parts[0].Text))
			return err
		}
		var b strings.Builder
		for _, part := range parts {
			open := "<i>"
			if part.Tight {
				open = `<i class="d">`
			}
			b.WriteString(open + html.EscapeString(part.Text) + "</i>")
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}
