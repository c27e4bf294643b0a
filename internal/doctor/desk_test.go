package doctor

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/seal"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/token"
	"chequer/internal/wire"
)

// deskAt returns an examination of the desk of a storage at a base URL.
func deskAt(t *testing.T, s *storage.Storage, base string) *examination {
	t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	site, _ := account.NewSite(base) // the zero site is examined too
	desk, err := account.NewService(account.Config{
		Storage: s, Box: box, Site: site, Issuer: "Shop", Encode: wire.AccountEvent, Now: time.Now, Token: token.New,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &examination{Config: Config{Storage: s, Desk: desk}}
}

func TestExamineDesk_reports_addresses_that_prevent_sign_in(t *testing.T) {
	t.Parallel()
	s := open(t, storagetest.File(t))
	lines := func(base string) string {
		t.Helper()
		e := deskAt(t, s, base)
		if err := e.examineDesk(t.Context()); err != nil {
			t.Fatal(err)
		}
		return strings.Join(e.lines(), "\n")
	}
	got := []string{lines("https://shop.example"), lines("http://192.168.1.5:8080")}
	err := s.ChangeTeam(t.Context(), "", func(account.Ticket, []account.Account) ([]account.Account, account.Outcome, error) {
		passkey := account.SignIn{Passkeys: []account.Passkey{{Name: "Laptop", Host: "shop.example"}}}
		bothMethods := account.SignIn{Passkeys: passkey.Passkeys, Password: &account.Password{}}
		return []account.Account{{ID: "acc_1", Name: "Maren", SignIn: passkey}, {ID: "acc_2", Name: "Tove", SignIn: bothMethods}}, account.Outcome{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, lines("https://shop.example"), lines("https://pay.example"))
	want := []string{
		"ok desk: it has no account yet: chequer desk link creates a link for the first account",
		"warn desk: " + account.ErrInsecure.Error(),
		"",
		`warn desk: "Maren" has passkeys of another address only, which do not work at pay.example: chequer account recover creates a link for a new sign-in method`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExamineAuditLog_reports_a_changed_entry(t *testing.T) {
	t.Parallel()
	url := storagetest.File(t)
	s := open(t, url)
	for range 3 {
		if err := s.Record(t.Context(), audit.Change{Action: "key.created"}); err != nil {
			t.Fatal(err)
		}
	}
	e := &examination{Config: Config{Storage: s}}
	if err := e.examineAuditLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	storagetest.Exec(t, url, "UPDATE audit_log SET action = 'key.revoked' WHERE number = 2")
	if err := e.examineAuditLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ok audit log: 3 entries are complete and unchanged",
		"fail audit log: verify audit log: audit log: entry 2 was changed, or the entry before it was replaced: a person changed the database, or this is an older copy of it",
	}
	if diff := cmp.Diff(want, e.lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
