package rendered

import "testing"

func TestCache_is_bounded(t *testing.T) {
	t.Parallel()
	page := func(size int) *Page { return &Page{gzip: make([]byte, size)} }
	for name, tt := range map[string]struct{ size, added int }{"bytes": {1 << 20, 20}, "pages": {0, maxPages + 100}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewCache[int]()
			for i := range tt.added {
				c.Add(i, page(tt.size))
				c.Add(i, page(tt.size)) // replaces
				c.Find(0)               // keeps the first page
			}
			sum, found := 0, 0
			for i := range tt.added {
				if p, ok := c.Find(i); ok {
					sum, found = sum+p.size(), found+1
				}
			}
			if sum > maxPageBytes || found > maxPages || found < min(maxPages, maxPageBytes/(tt.size+300)) {
				t.Errorf("the cache has %d pages of %d bytes, want at most %d pages and %d bytes", found, sum, maxPages, maxPageBytes)
			}
			if c.bytes != sum {
				t.Errorf("the cache counts %d bytes, want %d", c.bytes, sum)
			}
			if _, ok := c.Find(0); !ok {
				t.Error("the page that was used last is removed")
			}
		})
	}
}
