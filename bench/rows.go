package main

// allRows are the rows in the order in which they are measured.
func allRows() []row {
	return []row{
		planRow(), noopRow(), gridRow(), simRow(), stagesRow(), evidenceRow(),
		bm25Row(), millionRow(), largeRow(), exactRow(),
		metricsRow(), pairedRow(),
		tokensRow(), embedRow(1), embedRow(2),
		quickstartRow(), postgresRow(), crossRow(), seedRow(),
	}
}
