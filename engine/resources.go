package engine

// Resources is an amount of each class of machine resource.
type Resources struct {
	CPU         int   // threads
	Memory      int64 // bytes
	Network     int   // connections
	Accelerator int   // devices
}

// fits reports whether r can be taken out of free.
func (r Resources) fits(free Resources) bool { return r.beyond(free) == 0 }

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

// atLeastOne counts a stage that names no thread, connection or device as one
// thread, so that there is never more at work than the machine admits.
func (r Resources) atLeastOne() Resources {
	if r.CPU == 0 && r.Network == 0 && r.Accelerator == 0 {
		r.CPU = 1
	}
	return r
}

func (r Resources) plus(o Resources) Resources {
	return Resources{r.CPU + o.CPU, r.Memory + o.Memory, r.Network + o.Network, r.Accelerator + o.Accelerator}
}

func (r Resources) minus(o Resources) Resources {
	return Resources{r.CPU - o.CPU, r.Memory - o.Memory, r.Network - o.Network, r.Accelerator - o.Accelerator}
}

// classes is a set of resource classes.
type classes uint8

const (
	classCPU classes = 1 << iota
	classMemory
	classNetwork
	classAccelerator
)

// beyond are the classes of which r asks for more than limit has.
func (r Resources) beyond(limit Resources) classes {
	var c classes
	if r.CPU > limit.CPU {
		c |= classCPU
	}
	if r.Memory > limit.Memory {
		c |= classMemory
	}
	if r.Network > limit.Network {
		c |= classNetwork
	}
	if r.Accelerator > limit.Accelerator {
		c |= classAccelerator
	}
	return c
}

// used are the classes of which r asks for anything.
func (r Resources) used() classes { return r.beyond(Resources{}) }
