package desk_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"chequer/internal/account"
)

// The page of accounts and the manual have the same table of all permissions by role.
func TestPermissions_are_those_of_the_manual(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	table := f.owner().get("/desk/shop/accounts").want(http.StatusOK, "Permissions by role").find("table.roles")
	var rows []string
	table.Find("tr").Each(func(_ int, row *selection) {
		cells := row.Find("th, td").Map(func(_ int, cell *selection) string { return strings.TrimSpace(cell.Text()) })
		rows = append(rows, "| "+strings.Join(cells, " | ")+" |")
	})
	if len(rows) != len(account.Permissions)+1 {
		t.Errorf("the page has %d permissions, want %d", len(rows)-1, len(account.Permissions))
	}
	rows = append(rows[:1], append([]string{"|" + strings.Repeat("---|", len(account.Roles)+1)}, rows[1:]...)...)
	want := strings.Join(rows, "\n") + "\n"
	manual, err := os.ReadFile("../../internal/manual/merchant-desk.md")
	f.must(err)
	if !strings.Contains(string(manual), "\n\n"+want+"\n") {
		t.Errorf("the manual does not have the table\n%s", want)
	}
}
