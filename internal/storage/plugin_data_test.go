package storage_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/storage"
)

func TestPluginData_is_changed_only_by_its_merchant(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		c := creation("a", "shop")
		c.PluginMetadata = []byte(`{ "name" : "\u0000é" }`)
		create(t, s, c)
		create(t, s, creation("b", "shop"))
		want := func(want map[string]invoice.PluginData) {
			t.Helper()
			got, err := s.PluginData(ctx, "a", "b", "nothing")
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		}
		want(map[string]invoice.PluginData{"a": {Metadata: c.PluginMetadata}})
		archived := func(want map[string]bool) {
			t.Helper()
			got, err := s.PluginArchived(ctx, "a", "b", "nothing")
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("archived: error %v (-want +got):\n%s", err, diff)
			}
		}
		archived(map[string]bool{})
		if got, err := s.PluginArchived(ctx); err != nil || len(got) != 0 {
			t.Errorf("archived, of no invoices: got %+v, error %v", got, err)
		}
		if got, err := s.PluginData(ctx); err != nil || len(got) != 0 {
			t.Errorf("of no invoices: got %+v, error %v", got, err)
		}
		for _, err := range []error{
			s.SetPluginMetadata(ctx, "bakery", "a", []byte("{}")), s.SetPluginArchived(ctx, "bakery", "a", noon), s.SetPluginMetadata(ctx, "shop", "nothing", []byte("{}")),
		} {
			if !errors.Is(err, invoice.ErrNotFound) {
				t.Errorf("another merchant: got error %v, want %v", err, invoice.ErrNotFound)
			}
		}
		if err := errors.Join(
			s.SetPluginMetadata(ctx, "shop", "b", []byte("[]")), s.SetPluginArchived(ctx, "shop", "b", noon), s.SetPluginArchived(ctx, "shop", "b", noon.Add(time.Hour)),
		); err != nil {
			t.Fatal(err)
		}
		archived(map[string]bool{"b": true})
		if err := errors.Join(
			s.SetPluginArchived(ctx, "shop", "a", noon), s.SetPluginMetadata(ctx, "shop", "a", []byte(`"x"`)),
		); err != nil {
			t.Fatal(err)
		}
		want(map[string]invoice.PluginData{"a": {Metadata: []byte(`"x"`), ArchivedAt: noon}, "b": {Metadata: []byte("[]"), ArchivedAt: noon}})
	})
}
