package build_test

import (
	"runtime/debug"
	"testing"

	"chequer/internal/build"
)

func TestFromInfo_names_the_release_or_the_commit(t *testing.T) {
	t.Parallel()
	checkout := debug.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Version: "(devel)"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
			{Key: "vcs.time", Value: "2026-11-27T20:15:32Z"}, {Key: "vcs.modified", Value: "true"},
		},
	}
	for name, test := range map[string]struct {
		info    debug.BuildInfo
		release string
		want    string
	}{
		"a checkout": {info: checkout, want: "development (commit 0123456789ab with changes, 2026-11-27T20:15:32Z, go1.26.8)"},
		"a release":  {info: checkout, release: "1.2.0", want: "1.2.0 (commit 0123456789ab with changes, 2026-11-27T20:15:32Z, go1.26.8)"},
		"go install": {info: debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.1.0"}}, want: "v0.1.0 (go1.26.8)"},
	} {
		if got := build.FromInfo(&test.info, test.release).String(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
