package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"time"
)

// streams is the number of pages that are held open to measure the memory of each.
const streams = 500

// pages prints the cost of the payment page: time, bytes, and memory per open stream.
func (p *program) pages(ctx context.Context, span time.Duration) error {
	page := p.url + "/invoice/" + p.last.Load().(string)
	bytes := 0
	got, err := load(ctx, 1, span, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return err
		}
		r.Header.Set("Accept-Encoding", "gzip")
		answer, err := fetch(r)
		bytes = len(answer)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("| payment page with %d bytes of HTML, 1 client | %s | | |\n", bytes, got)
	before := p.memory()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for n := range streams {
		if err := p.create(ctx); err != nil {
			return err
		}
		if err := openStream(ctx, p.url+"/invoice/"+p.last.Load().(string)+"/live"); err != nil {
			return fmt.Errorf("stream %d: %w", n, err)
		}
	}
	fmt.Printf("| memory per open stream, of %d | %.0f KiB | | |\n", streams, float64(p.memory()-before)/streams/1024)
	return nil
}

// openStream opens a page's stream, and keeps it open until the context ends.
func openStream(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return fmt.Errorf("%s", resp.Status)
	}
	_, err = bufio.NewReader(resp.Body).ReadString('\n')
	context.AfterFunc(ctx, func() { resp.Body.Close() })
	return err
}
