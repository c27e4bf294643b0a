-- +goose Up

-- What an account has chosen for the pages of the desk: JSON, '' without a choice. The row's MAC covers it unless it is ''.
ALTER TABLE desk_accounts ADD COLUMN preferences TEXT NOT NULL DEFAULT '';

-- Finds the newest entries about changes of wallets, owners and sign-in methods.
CREATE INDEX audit_log_of_security ON audit_log (merchant_id, number) WHERE action IN ('wallet.added', 'wallet.replaced', 'wallet.removed',
    'account.created', 'account.removed', 'account.roles_changed', 'account.recovery_created', 'account.recovered',
    'account.password_set', 'account.password_removed', 'account.passkey_added', 'account.passkey_removed');

-- A removed link is kept for 30 days, so that its removal can be undone.
ALTER TABLE links ADD COLUMN removed_at BIGINT; -- NULL = not removed
CREATE INDEX links_removed ON links (merchant_id, removed_at) WHERE removed_at IS NOT NULL;
