package lightning_test

import (
	"encoding/json"
	"testing"

	"chequer/internal/chain/lightning"
)

func TestNumber_reads_whole_numbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]lightning.Number{
		`1`: 1, `1.0`: 1, `"1"`: 1, `"21000.000"`: 21000, `1e3`: 1000, `-5`: -5, `null`: 0, `""`: 0,
		`9223372036854775807`: 9223372036854775807,
	} {
		var got lightning.Number
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{`1.5`, `"x"`, `true`, `{}`, `[1]`, `9223372036854775808`, `1e999999999`, `1e-999999999`, `"1 "`} {
		var got lightning.Number
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s: got %d, want an error", text, got)
		}
	}
}
