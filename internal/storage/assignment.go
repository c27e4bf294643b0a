package storage

import (
	"context"
	"fmt"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/merchant"
)

// assignmentPurpose returns the purpose for which the secret of an assignment is sealed.
func assignmentPurpose(merchantID, terminalID, accountID string) string {
	return "terminal_assignments secret " + merchantID + " " + terminalID + " " + accountID
}

// AddAssignment implements merchant.AssignmentStorage. It locks the terminal and the account, so that neither is
// removed meanwhile.
func (s *Storage) AddAssignment(ctx context.Context, a merchant.Assignment, hash string) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		if err := s.lockTerminal(ctx, q, a.MerchantID, a.TerminalID); err != nil {
			return err
		}
		r, err := readDeskAccount(q.QueryRowContext(ctx, "SELECT "+deskAccountColumns+" FROM desk_accounts WHERE id = $1"+s.engine.ForUpdate, a.AccountID))
		if err != nil {
			return merchantNotFound(err, "read account")
		}
		seller, err := r.unseal(s.box)
		if err != nil {
			return err
		}
		if !usesTerminals(seller, a.MerchantID) {
			return merchant.ErrNotFound
		}
		inserted, err := exec(ctx, q, `
			INSERT INTO terminal_assignments (merchant_id, terminal_id, account_id, secret, secret_hash, created_at)
			VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (merchant_id, account_id, terminal_id) DO NOTHING`,
			a.MerchantID, a.TerminalID, a.AccountID, s.box.Seal(assignmentPurpose(a.MerchantID, a.TerminalID, a.AccountID), []byte(a.Secret)), hash, a.CreatedAt.UnixMilli())
		if err != nil {
			return fmt.Errorf("write assignment: %w", err)
		}
		if inserted == 0 {
			return nil
		}
		return s.record(ctx, q, audit.Change{MerchantID: a.MerchantID, Action: "terminal.assigned", Subject: a.TerminalID, After: fields("account", seller.Name)})
	})
}

// usesTerminals reports whether the role of an account in a shop allows own terminals.
func usesTerminals(a account.Account, merchantID string) bool {
	return a.Allows(merchantID, account.ViewOwnTerminals) != account.Denied
}

// lockTerminal locks a merchant's terminal, or returns merchant.ErrNotFound.
func (s *Storage) lockTerminal(ctx context.Context, q querier, merchantID, id string) error {
	var locked string
	err := q.QueryRowContext(ctx, "SELECT id FROM terminals WHERE merchant_id = $1 AND id = $2"+s.engine.ForUpdate, merchantID, id).Scan(&locked)
	return merchantNotFound(err, "lock terminal")
}

// RemoveAssignment implements merchant.AssignmentStorage.
func (s *Storage) RemoveAssignment(ctx context.Context, merchantID, terminalID, accountID string) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		removed, err := exec(ctx, q, "DELETE FROM terminal_assignments WHERE merchant_id = $1 AND terminal_id = $2 AND account_id = $3", merchantID, terminalID, accountID)
		if err != nil {
			return fmt.Errorf("remove assignment: %w", err)
		}
		if removed == 0 {
			return merchant.ErrNotFound
		}
		var name string
		if err := q.QueryRowContext(ctx, "SELECT name FROM desk_accounts WHERE id = $1", accountID).Scan(&name); err != nil {
			return fmt.Errorf("read name of account: %w", err)
		}
		return s.record(ctx, q, audit.Change{MerchantID: merchantID, Action: "terminal.unassigned", Subject: terminalID, Before: fields("account", name)})
	})
}

// Assignments implements merchant.AssignmentStorage.
func (s *Storage) Assignments(ctx context.Context, merchantID string) ([]merchant.Assignment, error) {
	return readAll(ctx, s, "read assignments", func(row scanner) (a merchant.Assignment, err error) {
		var created int64
		err = row.Scan(&a.MerchantID, &a.TerminalID, &a.AccountID, &created)
		a.CreatedAt = utc(created)
		return a, err
	}, `
		SELECT merchant_id, terminal_id, account_id, created_at FROM terminal_assignments
		WHERE merchant_id = $1 ORDER BY created_at, account_id, terminal_id`, merchantID)
}

// AssignedTerminals implements merchant.AssignmentStorage.
func (s *Storage) AssignedTerminals(ctx context.Context, merchantID, accountID string) ([]merchant.Terminal, error) {
	return readAll(ctx, s, "read assigned terminals", readTerminal, `
		SELECT t.id, t.merchant_id, t.mode, t.name, t.fiat_currency, t.methods, t.created_at
		FROM terminal_assignments a JOIN terminals t ON t.id = a.terminal_id AND t.merchant_id = a.merchant_id
		WHERE a.merchant_id = $1 AND a.account_id = $2 ORDER BY t.created_at, t.id`, merchantID, accountID)
}

// AssignmentSecret implements merchant.AssignmentStorage.
func (s *Storage) AssignmentSecret(ctx context.Context, merchantID, terminalID, accountID string) (string, error) {
	sealed, err := readOne(ctx, s, column[string], `
		SELECT secret FROM terminal_assignments WHERE merchant_id = $1 AND terminal_id = $2 AND account_id = $3`, merchantID, terminalID, accountID)
	if err != nil {
		return "", merchantNotFound(err, "read assignment")
	}
	secret, err := s.box.Open(assignmentPurpose(merchantID, terminalID, accountID), sealed)
	if err != nil {
		return "", fmt.Errorf("assignment of %s to %s: %w", terminalID, accountID, err)
	}
	return string(secret), nil
}

// forgetAssignments deletes the assignments that the roles of an account do not allow any more.
func forgetAssignments(ctx context.Context, q querier, before, after account.Account) error {
	for _, merchantID := range before.Shops() {
		if !usesTerminals(before, merchantID) || usesTerminals(after, merchantID) {
			continue
		}
		if _, err := q.ExecContext(ctx, "DELETE FROM terminal_assignments WHERE merchant_id = $1 AND account_id = $2", merchantID, before.ID); err != nil {
			return fmt.Errorf("delete assignments: %w", err)
		}
	}
	return nil
}
