// Package download streams files whose length is not known in advance, such as exports.
package download

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// pageWriteTimeout is the time that the client may take to receive a page of a file.
const pageWriteTimeout = time.Minute

// Encoder writes the rows of a file one by one. Close writes the end of the file.
type Encoder[T any] interface {
	Write(T) error
	Close() error
}

// ReadPage returns at most limit rows after a row. It is called with nil for the first rows.
type ReadPage[T any] func(ctx context.Context, after *T, limit int) ([]T, error)

// File is a file to be streamed.
type File[T any] struct {
	Header map[string]string
	Read   ReadPage[T]
	Page   int // number of rows that are read at once
	Open   func() Encoder[T]
	Log    *slog.Logger
}

// Send writes a file page by page, so that neither its use of memory nor the time of a read of the database
// depends on the number of rows. An error of the first page is returned. After an error of a later one, the
// connection is aborted with http.ErrAbortHandler: a normal return would end the answer as if it were
// complete.
func Send[T any](c echo.Context, f File[T]) error {
	ctx := c.Request().Context()
	page, err := f.Read(ctx, nil, f.Page)
	if err != nil {
		return err
	}
	for name, value := range f.Header {
		c.Response().Header().Set(name, value)
	}
	c.Response().WriteHeader(http.StatusOK)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	if err := f.write(ctx, http.NewResponseController(c.Response()), page); err != nil {
		f.Log.Warn("export aborted", "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// write writes a page and all following pages.
func (f File[T]) write(ctx context.Context, control *http.ResponseController, page []T) error {
	out := f.Open()
	for {
		_ = control.SetWriteDeadline(time.Now().Add(pageWriteTimeout)) // fails only if the ResponseWriter supports no deadlines
		for _, row := range page {
			if err := out.Write(row); err != nil {
				return err
			}
		}
		if len(page) < f.Page {
			return out.Close()
		}
		var err error
		if page, err = f.Read(ctx, &page[len(page)-1], f.Page); err != nil {
			return err
		}
	}
}
