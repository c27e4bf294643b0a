package views

import "chequer/internal/locale"

// Languages is the page that lists the languages for another page.
type Languages struct {
	Page
	List []*locale.Language
}
