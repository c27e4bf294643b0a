package notify

import "time"

// SetTimeout sets the time that an attempt may take.
func SetTimeout(w *Worker, d time.Duration) { w.timeout = d }
