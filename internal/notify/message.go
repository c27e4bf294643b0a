package notify

import "time"

// State is the state of a message.
type State string

// The states.
const (
	Pending State = "pending"
	Sent    State = "sent"
	Failed  State = "failed"  // given up
	Dropped State = "dropped" // its account or its destination does not exist any more
)

// Item is an entry of a message: a sale, a case, a fault or the sums of a shop.
type Item struct {
	MerchantID string `json:"merchant"` // "" if it is about the server
	Text       string `json:"text"`     // one line
	Path       string `json:"path"`     // path of its page below /desk
}

// Entry is an item for the outbox. Items of one account, channel and kind that are due at the same time share
// a message.
type Entry struct {
	AccountID string
	Channel   Channel
	Kind      Kind
	DueAt     time.Time
	Item      Item
}

// Message is a message of the outbox.
type Message struct {
	ID             string
	AccountID      string
	Channel        Channel
	Kind           Kind
	State          State
	Items          []Item // at most MaxItems
	More           int    // number of items beyond Items
	Attempts       int
	Fault          string // of the last attempt
	CreatedAt      time.Time
	FirstAttemptAt time.Time // zero before the first attempt
	NextAttemptAt  time.Time // zero unless pending
}

// MaxItems is the number of items that a message lists. It only counts further items.
const MaxItems = 50

// Add adds an item.
func (m *Message) Add(i Item) {
	if len(m.Items) < MaxItems {
		m.Items = append(m.Items, i)
	} else {
		m.More++
	}
}

// Count returns the number of items.
func (m Message) Count() int { return len(m.Items) + m.More }

// Claim is a message that one process sends.
type Claim struct {
	Message
	Until time.Time // end of the claim
}

// Outcome is the state of a message after an attempt.
type Outcome struct {
	State         State
	At            time.Time // of the attempt; zero if there was none, because the message waits
	NextAttemptAt time.Time // zero unless pending
	Fault         string
}

// bundleTime is the time that a message waits for further items.
const bundleTime = time.Minute

// dueAt returns the time at which a message with an item of the present is due: the end of the minute, or
// that of the quiet hours.
func dueAt(s Settings, k Kind, now time.Time) time.Time {
	return s.SendAt(k, now.Truncate(bundleTime).Add(bundleTime))
}
