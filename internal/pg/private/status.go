package private

import "time"

// Status is what can be told about a private server without starting it.
type Status struct {
	// Running says that it accepts connections; the fields to Endpoint are known
	// then.
	Running    bool
	Version    string
	Server     int // process ids
	Supervisor int
	Account    string
	Started    time.Time
	IdleAfter  time.Duration
	Endpoint   Endpoint
	// InUse says that some process has a lease.
	InUse bool
	// Data is the data folder; Bytes is what it takes, 0 when there is none.
	Data  string
	Bytes int64
	// Log is the file with what the server said.
	Log string
}
