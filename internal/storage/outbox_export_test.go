package storage

// NotificationStatements returns statements that notifications run often, with the index that each uses.
func NotificationStatements() map[string]Statement {
	return map[string]Statement{
		"messages_due":        {dueMessages, []any{"mail", 1, 1}},
		"messages_of_account": {messagesOfAccount, []any{"acc_1", 10}},
		"messages_by_state":   {failedMessages, []any{1, 10}},
		"invoices_by_paid_at": {paidBetween, []any{"shop", "live", 1, 2}},
		"events_pkey":         {feedEvents, []any{"shop", 1, 200}},
	}
}
