package doctor

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/config"
	"chequer/internal/storage/storagetest"
)

func TestExamineProxy_warns_of_an_untrusted_proxy(t *testing.T) {
	t.Parallel()
	load := func(settings ...string) config.Config {
		c, err := config.Load(append(settings, "CHEQUER_DATA_DIR="+t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	s := storagetest.SQLite(t)
	examine := func(c config.Config) []string {
		e := &examination{Config: Config{Settings: c, Storage: s}}
		if err := e.examineProxy(t.Context()); err != nil {
			t.Fatal(err)
		}
		return e.lines()
	}
	c := load()
	if findings := examine(c); len(findings) > 0 {
		t.Errorf("without a proxy: %q", findings)
	}
	if err := s.SaveUntrustedProxy(t.Context(), netip.MustParseAddr("127.0.0.1")); err != nil {
		t.Fatal(err)
	}
	want := []string{"warn proxy: requests came through 127.0.0.1, which is not trusted, so all shoppers share one limit: set CHEQUER_TRUST_PROXY=127.0.0.1 if it is your proxy"}
	if diff := cmp.Diff(examine(c), want); diff != "" {
		t.Errorf("with a proxy (-got +want):\n%s", diff)
	}
	if findings := examine(load("CHEQUER_TRUST_PROXY=127.0.0.1")); len(findings) > 0 {
		t.Errorf("when the proxy is trusted: %q", findings)
	}
}
