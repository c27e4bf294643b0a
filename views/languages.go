package views

import "chequer/internal/locale"

// Languages is the page on which the reader of another page chooses a language.
type Languages struct {
	Page
	List []*locale.Language
}
