package locale

import "testing"

func TestMessage_with_values(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "",
		"Pay now":                      "Pay now",
		"{{.Amount}}":                  "1 BTC",
		"Pay {{.Amount}} to {{.Shop}}": "Pay 1 BTC to {{.Amount}}",
		"{{.Amount}}{{.Missing}}.":     "1 BTC.",
	} {
		m, err := parseMessage(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.fill(map[string]string{"Amount": "1 BTC", "Shop": "{{.Amount}}"}); got != want {
			t.Errorf("%q with its values is %q, want %q", text, got, want)
		}
	}
}

func TestMessage_refuses_other_actions(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{{Amount}}", "{{.}}", "{{ .Amount }}", "{{.Amount", "{{if .A}}b{{end}}", "{{.A.B}}", "{{.Amount | html}}"} {
		if m, err := parseMessage(text); err == nil {
			t.Errorf("%q is parsed as %q", text, m)
		}
	}
}
