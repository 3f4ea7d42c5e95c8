// Bench measures raglab and the tools that do the same work, side by side.
//
// Every comparison is made within one run, on the same files and with as many
// threads: raglab and a peer take turns, again and again, and what is shown is
// the ratio of each turn, because machines drift by more than tools differ. It
// prints one table and adds a line for each figure to results/bench.jsonl. See
// the README in this folder.
package main
