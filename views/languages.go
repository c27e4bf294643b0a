package views

import "chequer/internal/locale"

// Languages is the choice of a language for a page.
type Languages struct {
	Page
	List []*locale.Language
}
