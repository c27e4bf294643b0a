package doctor

import (
	"context"
	"errors"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/format"
)

// AuditLog is the record of changes.
type AuditLog interface {
	// VerifyAuditLog verifies every entry and returns the last one. The error is an *audit.BrokenError if
	// an entry was changed, removed or put back.
	VerifyAuditLog(ctx context.Context) (audit.Head, error)
}

// examineAuditLog verifies the audit log.
func (e *examination) examineAuditLog(ctx context.Context) error {
	head, err := e.Storage.VerifyAuditLog(ctx)
	if _, isBroken := errors.AsType[*audit.BrokenError](err); isBroken {
		e.fail("audit log", "%s: a person changed the database, or this is an older copy of it", format.OneLine(err.Error(), maxFault))
		return nil
	}
	if err == nil {
		e.ok("audit log", "%d entries are complete and unchanged", head.Number)
	}
	return err
}

// examineDesk reports accounts that cannot sign in.
func (e *examination) examineDesk(ctx context.Context) error {
	team, err := e.Desk.Team(ctx)
	if err != nil {
		return err
	}
	if e.Desk.Site == (account.Site{}) {
		e.warn("desk", "%s", account.ErrInsecure)
		return nil
	}
	if len(team) == 0 {
		e.ok("desk", "it has no account yet: chequer desk link creates a link for the first account")
		return nil
	}
	for _, a := range e.Desk.Stranded(team) {
		e.warn("desk", "%q has passkeys of another address only, which do not work at %s: chequer account recover creates a link for a new sign-in method", a.Name, e.Desk.Site.Host)
	}
	return nil
}
