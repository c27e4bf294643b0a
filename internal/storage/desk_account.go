package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/seal"
	"chequer/internal/storage/engine"
)

// deskAccountRow is an account of the desk as stored in columns.
type deskAccountRow struct {
	id, name, nameKey, roles string
	signIn                   string // sealed
	createdAt                int64
	preferences              string
	mac                      string
}

// sealDeskAccount returns the row of an account.
func sealDeskAccount(box *seal.Box, a account.Account) deskAccountRow {
	r := deskAccountRow{
		id: a.ID, name: a.Name, nameKey: account.NameKey(a.Name), roles: jsonText(a.Roles),
		signIn: box.Seal(signInPurpose(a.ID), []byte(jsonText(a.SignIn))), createdAt: a.CreatedAt.UnixMilli(),
	}
	if text := jsonText(a.Preferences); text != "{}" {
		r.preferences = text
	}
	r.mac = box.MAC("desk_accounts", r.fields()...)
	return r
}

// unseal verifies the row and decrypts its sign-in methods. It returns account.ErrTampered if the MAC is
// wrong.
func (r deskAccountRow) unseal(box *seal.Box) (account.Account, error) {
	a := account.Account{ID: r.id, Name: r.name, CreatedAt: utc(r.createdAt)}
	if !box.Check(r.mac, "desk_accounts", r.fields()...) {
		return a, fmt.Errorf("account %s: %w", r.id, account.ErrTampered)
	}
	text, err := box.Open(signInPurpose(r.id), r.signIn)
	if err == nil {
		err = json.Unmarshal(text, &a.SignIn)
	}
	if err == nil {
		err = json.Unmarshal([]byte(r.roles), &a.Roles)
	}
	if err == nil && r.preferences != "" {
		err = json.Unmarshal([]byte(r.preferences), &a.Preferences)
	}
	if err != nil {
		return a, fmt.Errorf("account %s: %w", r.id, err)
	}
	return a, nil
}

// fields returns the fields that the row's MAC covers.
func (r deskAccountRow) fields() []string {
	all := []string{r.id, r.name, r.nameKey, r.roles, r.signIn, strconv.FormatInt(r.createdAt, 10)}
	if r.preferences != "" { // rows of older versions have none
		all = append(all, r.preferences)
	}
	return all
}

// signInPurpose returns the purpose for which an account's sign-in methods are sealed.
func signInPurpose(id string) string { return "desk_accounts sign_in " + id }

const deskAccountColumns = "id, name, name_key, roles, sign_in, created_at, preferences, mac"

func readDeskAccount(row scanner) (r deskAccountRow, err error) {
	err = row.Scan(&r.id, &r.name, &r.nameKey, &r.roles, &r.signIn, &r.createdAt, &r.preferences, &r.mac)
	return r, err
}

// Accounts implements account.Storage.
func (s *Storage) Accounts(ctx context.Context) ([]account.Account, error) {
	rows, err := readAll(ctx, s, "read accounts", readDeskAccount, "SELECT "+deskAccountColumns+" FROM desk_accounts ORDER BY created_at, id")
	if err != nil {
		return nil, err
	}
	return unsealAll(s.box, rows)
}

// Account implements account.Storage.
func (s *Storage) Account(ctx context.Context, id string) (account.Account, error) {
	return s.deskAccount(ctx, "SELECT "+deskAccountColumns+" FROM desk_accounts WHERE id = $1", id)
}

// AccountNamed implements account.Storage.
func (s *Storage) AccountNamed(ctx context.Context, key string) (account.Account, error) {
	return s.deskAccount(ctx, "SELECT "+deskAccountColumns+" FROM desk_accounts WHERE name_key = $1", key)
}

func (s *Storage) deskAccount(ctx context.Context, query string, arg string) (account.Account, error) {
	r, err := readOne(ctx, s, readDeskAccount, query, arg)
	if err != nil {
		return account.Account{}, accountNotFound(err, "read account")
	}
	return r.unseal(s.box)
}

// UpdateAccount implements account.Storage.
func (s *Storage) UpdateAccount(ctx context.Context, id string, change func(*account.Account) (account.Outcome, error)) (account.Account, error) {
	return answer(ctx, s.write, func(ctx context.Context, q querier) (account.Account, error) {
		r, err := readDeskAccount(q.QueryRowContext(ctx, "SELECT "+deskAccountColumns+" FROM desk_accounts WHERE id = $1"+s.engine.ForUpdate, id))
		if err != nil {
			return account.Account{}, accountNotFound(err, "read account")
		}
		a, err := r.unseal(s.box)
		if err != nil {
			return a, err
		}
		o, err := change(&a)
		if err != nil {
			return a, err
		}
		if err := s.saveDeskAccount(ctx, q, a); err != nil {
			return a, err
		}
		return a, s.recordOutcome(ctx, q, o)
	})
}

// saveDeskAccount writes an account. It returns account.ErrExists if another account has its name.
func (s *Storage) saveDeskAccount(ctx context.Context, q querier, a account.Account) error {
	r := sealDeskAccount(s.box, a)
	_, err := q.ExecContext(ctx, `
		INSERT INTO desk_accounts (id, name, name_key, roles, sign_in, created_at, preferences, mac) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, name_key = excluded.name_key, roles = excluded.roles,
			sign_in = excluded.sign_in, preferences = excluded.preferences, mac = excluded.mac`,
		r.id, r.name, r.nameKey, r.roles, r.signIn, r.createdAt, r.preferences, r.mac)
	if engine.IsDuplicate(err) { // a transaction that ran at the same time wrote the name
		return account.ErrExists
	}
	if err != nil {
		return fmt.Errorf("write account: %w", err)
	}
	return nil
}

// ChangeTeam implements account.Storage.
func (s *Storage) ChangeTeam(ctx context.Context, ticketHash string, change func(account.Ticket, []account.Account) ([]account.Account, account.Outcome, error)) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		var ticket account.Ticket
		if ticketHash != "" {
			var err error
			if ticket, err = s.takeTicket(ctx, q, ticketHash); err != nil {
				return err
			}
		}
		rows, err := list(ctx, q, readDeskAccount, "SELECT "+deskAccountColumns+" FROM desk_accounts ORDER BY created_at, id"+s.engine.ForUpdate)
		if err != nil {
			return fmt.Errorf("read accounts: %w", err)
		}
		before, err := unsealAll(s.box, rows)
		if err != nil {
			return err
		}
		after, o, err := change(ticket, slices.Clone(before))
		if err != nil {
			return err
		}
		if err := s.saveTeam(ctx, q, before, after); err != nil {
			return err
		}
		return s.recordOutcome(ctx, q, o)
	})
}

// recordOutcome writes the event and the entry of the audit log of a change of an account. The shops are
// sorted, so that two transactions lock their feeds in the same order.
func (s *Storage) recordOutcome(ctx context.Context, q querier, o account.Outcome) error {
	if o.Event.ID != "" {
		for _, merchantID := range o.Event.MerchantIDs {
			position, err := takePositions(ctx, q, merchantID, 1)
			if err != nil {
				return err
			}
			err = appendEvents(ctx, q, recordedEvents{
				merchantID: merchantID, mode: invoice.Live,
				events: []invoice.Event{{ID: o.Event.ID, Type: account.EventChanged, CreatedAt: o.Event.At, Body: o.Event.Body}},
			}, position)
			if err != nil {
				return err
			}
		}
	}
	return s.record(ctx, q, o.Entry)
}

// saveTeam removes the accounts that are not in after, and writes the others.
func (s *Storage) saveTeam(ctx context.Context, q querier, before, after []account.Account) error {
	keys := map[string]bool{}
	for _, a := range after {
		if keys[account.NameKey(a.Name)] {
			return account.ErrExists
		}
		keys[account.NameKey(a.Name)] = true
	}
	for _, b := range before {
		i := slices.IndexFunc(after, func(a account.Account) bool { return a.ID == b.ID })
		kept := account.Account{} // no roles
		if i >= 0 {
			kept = after[i]
		}
		if err := forgetAssignments(ctx, q, b, kept); err != nil {
			return err
		}
		if i >= 0 {
			continue
		}
		if err := deleteNotifications(ctx, q, b.ID); err != nil {
			return err
		}
		for _, statement := range []string{
			"DELETE FROM desk_sessions WHERE account_id = $1",
			"DELETE FROM desk_tickets WHERE account_id = $1",
			"DELETE FROM desk_accounts WHERE id = $1",
		} {
			if _, err := q.ExecContext(ctx, statement, b.ID); err != nil {
				return fmt.Errorf("remove account: %w", err)
			}
		}
	}
	for _, a := range after {
		if err := s.saveDeskAccount(ctx, q, a); err != nil {
			return err
		}
	}
	return nil
}

// accountNotFound returns account.ErrNotFound if err means that there is no row. It adds the failed
// operation to other errors.
func accountNotFound(err error, operation string) error {
	switch {
	case err == nil:
		return nil
	case engine.Absent(err):
		return account.ErrNotFound
	}
	return fmt.Errorf("%s: %w", operation, err)
}
