package source

// Progressive is implemented by sources that take long enough to be asked how far
// they are.
type Progressive interface {
	// Progress names a function that the next run through Documents tells how many
	// of how many documents are done. It is called before the run begins.
	Progress(tell func(done, total int))
}
