package engine

// Resources is an amount of each class of machine resource.
type Resources struct {
	CPU         int   // threads
	Memory      int64 // bytes
	Network     int   // connections
	Accelerator int   // devices
}

// fits reports whether r can be taken out of free.
func (r Resources) fits(free Resources) bool {
	return r.CPU <= free.CPU && r.Memory <= free.Memory && r.Network <= free.Network && r.Accelerator <= free.Accelerator
}

// atMost lowers what exceeds the machine, so that a stage that wants more than
// there is runs alone instead of never.
func (r Resources) atMost(all Resources) Resources {
	return Resources{
		CPU:         min(r.CPU, all.CPU),
		Memory:      min(r.Memory, all.Memory),
		Network:     min(r.Network, all.Network),
		Accelerator: min(r.Accelerator, all.Accelerator),
	}
}

func (r Resources) plus(o Resources) Resources {
	return Resources{r.CPU + o.CPU, r.Memory + o.Memory, r.Network + o.Network, r.Accelerator + o.Accelerator}
}

func (r Resources) minus(o Resources) Resources {
	return Resources{r.CPU - o.CPU, r.Memory - o.Memory, r.Network - o.Network, r.Accelerator - o.Accelerator}
}

// queue is the first resource class that a stage competes for: stages wait in
// line per class, so that one that wants many threads is not overtaken for ever
// by small ones, while downloads pass it by.
func (r Resources) queue() int {
	switch {
	case r.Accelerator > 0:
		return 2
	case r.CPU == 0 && r.Network > 0:
		return 1
	}
	return 0
}

const queues = 3
