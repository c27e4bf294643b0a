package monerotest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// newCertificate makes a certificate and returns the files with the certificate and its key.
func (n *Node) newCertificate(t testing.TB) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	n.Certificate = sum[:]
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(n.dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("rpc.crt", "CERTIFICATE", der), write("rpc.key", "PRIVATE KEY", keyDER)
}

var challengeField = regexp.MustCompile(`(realm|nonce)="([^"]*)"`)

// answerChallenge returns the login for the first request after a challenge, with MD5. See RFC 7616.
func answerChallenge(challenge, user, password, path string) string {
	fields := map[string]string{}
	for _, m := range challengeField.FindAllStringSubmatch(challenge, -1) {
		fields[m[1]] = m[2]
	}
	sum := func(text string) string {
		digest := md5.Sum([]byte(text))
		return hex.EncodeToString(digest[:])
	}
	const count, client = "00000001", "monerotest"
	response := sum(sum(user+":"+fields["realm"]+":"+password) + ":" + fields["nonce"] + ":" + count + ":" + client + ":auth:" + sum("POST:"+path))
	return fmt.Sprintf(`Digest username="%s", realm="%s", nonce="%s", uri="%s", algorithm=MD5, qop=auth, nc=%s, cnonce="%s", response="%s"`,
		user, fields["realm"], fields["nonce"], path, count, client, response)
}
