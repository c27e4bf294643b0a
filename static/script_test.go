package static_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// called matches the name of a called function that is not a method.
var called = regexp.MustCompile(`(?:^|\.\.\.|[^\w.$])([A-Za-z_$][\w$]{2,})\(`)

// callable are the functions of browsers and the words of the language and of style sheets that scripts
// use before a parenthesis.
var callable = []string{
	"addEventListener", "catch", "clearInterval", "clearTimeout", "dispatchEvent", "fetch", "for", "function", "getSelection", "matchMedia", "parseInt",
	"return", "setInterval", "setTimeout", "String", "BigInt", "Number", "Event", "FormData", "DOMParser", "EventSource", "CustomEvent", "URL", "Date",
	"AudioContext", "MessageEvent", "Uint8Array", "Error", "switch", "while", "isNaN", "atob", "btoa", "Promise", "requestAnimationFrame", "removeEventListener", "RegExp",
	"min", "rgb", "not", "async", "await", "typeof", "encodeURIComponent", "decodeURIComponent", "URLSearchParams",
}

// In the generated scripts the names of declared functions are short. A longer name that is called and that
// browsers do not have is a mistake in a name.
func TestScripts_call_only_functions_that_exist(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("generated/*.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts, error %v", err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range unknownCalls(string(text)) {
			t.Errorf("%s calls %s", path, name)
		}
	}
}

func TestUnknownCalls_are_those_of_undefined_functions(t *testing.T) {
	t.Parallel()
	got := unknownCalls(`(()=>{function a(b){b.show();c(b)}a(...parts(1));setTimeout(a,9)})();`)
	if !slices.Equal(got, []string{"parts"}) {
		t.Errorf("unknown calls %q, want parts", got)
	}
}

// unknownCalls returns the names that a generated script calls and that are not callable.
func unknownCalls(script string) (names []string) {
	for _, found := range called.FindAllStringSubmatch(script, -1) {
		if !slices.Contains(callable, found[1]) {
			names = append(names, found[1])
		}
	}
	return names
}
