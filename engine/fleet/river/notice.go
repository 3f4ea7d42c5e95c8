package river

import (
	"encoding/json"
	"fmt"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
	"raglab/internal/pg"
)

// body is a notice as the server keeps it, beside whose it is.
type body struct {
	Type       engine.EventType  `json:"type"`
	Time       time.Time         `json:"time"`
	Key        *cache.Key        `json:"key,omitempty"`
	Worker     string            `json:"worker,omitempty"`
	Attempt    int               `json:"attempt,omitempty"`
	Reason     *engine.Reason    `json:"reason,omitempty"`
	Completion engine.Completion `json:"completion,omitempty"`
	Outputs    []cache.Blob      `json:"outputs,omitempty"`
	Wall       time.Duration     `json:"wall,omitempty"`
	CPU        time.Duration     `json:"cpu,omitempty"`
	PaidUSD    float64           `json:"paid_usd,omitempty"`
	Unkept     bool              `json:"unkept,omitempty"`
	Done       int64             `json:"done,omitempty"`
	Total      int64             `json:"total,omitempty"`
	Unit       string            `json:"unit,omitempty"`
	Message    string            `json:"message,omitempty"`
	State      engine.StageState `json:"state,omitempty"`
	Failure    *fleet.Failure    `json:"failure,omitempty"`
}

// encodeNotice writes a notice; texts lose what has the look of a secret.
func encodeNotice(n fleet.Notice) []byte {
	b := body{
		Type: n.Type, Time: n.Time, Worker: n.Worker, Attempt: n.Attempt, Completion: n.Completion, Outputs: n.Outputs,
		Wall: n.Wall, CPU: n.CPU, PaidUSD: n.PaidUSD, Unkept: n.Unkept, Done: n.Done, Total: n.Total, Unit: n.Unit,
		Message: pg.Redact(n.Message), State: n.State,
	}
	if n.Key != (cache.Key{}) {
		b.Key = &n.Key
	}
	if n.Reason.Kind != engine.ReasonNone {
		b.Reason = &n.Reason
	}
	if n.Failure != nil {
		f := redacted(*n.Failure)
		b.Failure = &f
	}
	return mustJSON(b)
}

func redacted(f fleet.Failure) fleet.Failure {
	f.Text = pg.Redact(f.Text)
	return f
}

// mustJSON encodes what can always be encoded.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return b
}

// decodeNotice reads what encodeNotice wrote.
func decodeNotice(text []byte) (fleet.Notice, error) {
	var b body
	if err := json.Unmarshal(text, &b); err != nil {
		return fleet.Notice{}, fmt.Errorf("read a notice: %w", err)
	}
	n := fleet.Notice{
		Type: b.Type, Time: b.Time, Worker: b.Worker, Attempt: b.Attempt, Completion: b.Completion, Outputs: b.Outputs,
		Wall: b.Wall, CPU: b.CPU, PaidUSD: b.PaidUSD, Unkept: b.Unkept, Done: b.Done, Total: b.Total, Unit: b.Unit,
		Message: b.Message, State: b.State, Failure: b.Failure,
	}
	if b.Key != nil {
		n.Key = *b.Key
	}
	if b.Reason != nil {
		n.Reason = *b.Reason
	}
	return n, nil
}

// tell adds a notice about a node, for all runs that have it. Without a reason it
// gets the node's.
func (t *tx) tell(node int64, n fleet.Notice) { t.tellRun(nil, node, n) }

// tellRun adds a notice for one run.
func (t *tx) tellRun(run *int64, node int64, n fleet.Notice) {
	if n.Time.IsZero() {
		n.Time = t.now
	}
	t.told.Queue(t.q.sql(`
		insert into {s}.fleet_notice (run, node, body)
		select $1, n.id, case when $3::jsonb ? 'reason' or n.reason is null then $3::jsonb
			else $3::jsonb || jsonb_build_object('reason', n.reason) end
		from {s}.fleet_node n where n.id = $2`), run, node, encodeNotice(n))
}

// tellBlocked adds the notices of nodes that the failure of root has blocked.
func (t *tx) tellBlocked(nodes []int64, root int64) {
	if len(nodes) == 0 {
		return
	}
	t.told.Queue(t.q.sql(`
		insert into {s}.fleet_notice (node, body)
		select n.id, jsonb_strip_nulls(jsonb_build_object('type', $3::text, 'state', $4::text, 'time', clock_timestamp(),
			'message', r.address, 'reason', n.reason))
		from {s}.fleet_node n, {s}.fleet_node r where n.id = any($1) and r.id = $2 order by n.id`),
		nodes, root, string(engine.EventBlocked), string(engine.StateBlocked))
}
