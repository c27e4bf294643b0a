-- +goose Up

-- Old sessions and failed sign-ins are deleted by age.
CREATE INDEX desk_sessions_by_age ON desk_sessions (used_at);
CREATE INDEX sign_in_attempts_by_age ON sign_in_attempts (last_at);
