package web

// RenderedPages returns the number of pages that were rendered and compressed for the cache.
func (h *Handler) RenderedPages() int64 { return h.rendered.Load() }
