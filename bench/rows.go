package main

// allRows are the rows in the order in which they are measured.
func allRows() []row {
	return []row{
		planRow(), noopRow(), gridRow(),
		bm25Row(), millionRow(), exactRow(),
		metricsRow(), pairedRow(),
		tokensRow(), embedRow(1), embedRow(2),
		quickstartRow(), postgresRow(), crossRow(), seedRow(),
	}
}
