package signature_test

import (
	"testing"

	"chequer/internal/signature"
)

// The expected signature was made with openssl.
func TestEvent_has_the_signature_of_openssl(t *testing.T) {
	t.Parallel()
	abc := signature.Event{Timestamp: "1795780832", ID: "evt_1", Body: []byte("abc")}
	if got, want := string(abc.Message()), "chequer-event-v1\n1795780832\nevt_1\n"+sha512ABC; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e := signature.Event{Timestamp: "1795780832", ID: "evt_1", Body: []byte(`{"id":"evt_1"}`)}
	got := signature.Sign("0123456789012345678901234567890123456789", e.Message())
	want := "8fe4ef64e98360b4b9210021ca9ed8f34c2afb93ba0ff6c519dcae13fd50cf3597cedd5ab9b61e71e6b22a46c52e59d82153e64c0368b519182857bd3ddc956a"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
