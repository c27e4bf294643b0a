package daemon

import "testing"

// The examples of RFC 7616, section 3.9.1.
func TestChallenge_answers_as_in_RFC_7616(t *testing.T) {
	t.Parallel()
	const client = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
	challenges := []string{
		`Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=MD5, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`,
		`Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=SHA-256, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`,
	}
	for algorithm, test := range map[string]struct {
		challenges []string
		response   string
	}{
		"MD5":     {challenges[:1], "8ca523f5e9506fed4657c9700eebdbec"},
		"SHA-256": {challenges, "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"},
	} {
		c := newChallenge(test.challenges)
		if c == nil {
			t.Fatalf("%s: no challenge", algorithm)
		}
		c.count = 1
		got := c.answerWith("Mufasa", "Circle of Life", "GET", "/dir/index.html", client)
		want := `Digest username="Mufasa", realm="http-auth@example.org", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", uri="/dir/index.html", ` +
			`algorithm=` + algorithm + `, qop=auth, nc=00000001, cnonce="` + client + `", response="` + test.response + `", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", algorithm, got, want)
		}
	}
}

func TestChallenge_is_read(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`Digest qop="auth",algorithm=MD5,realm="monero-rpc",nonce="a==",stale=false`: "monero-rpc a== false",
		`digest nonce="a" , QOP = auth , realm="x,y=z\"", Stale=TRUE`:                `x,y=z\" a true`,
		`Digest nonce=a, qop="auth-int,auth"`:                                        " a false",
		`Digest nonce="", qop="auth"`:                                                "",
		`Digest nonce="a", qop="auth-int"`:                                           "",
		`Digest nonce="a"`:                                                           "",
		`Digest nonce="a, qop="auth"`:                                                "",
		`Digest qop=auth, nonce="a`:                                                  "",
		`Digest`:                                                                     "",
		`Basic realm="x"`:                                                            "",
		``:                                                                           "",
		`Digest ,,,=`:                                                                "",
	} {
		got := ""
		if c := newChallenge([]string{value}); c != nil {
			got = c.realm + " " + c.nonce + " "
			if c.isStale {
				got += "true"
			} else {
				got += "false"
			}
		}
		if got != want {
			t.Errorf("newChallenge(%s) = %q, want %q", value, got, want)
		}
	}
}
