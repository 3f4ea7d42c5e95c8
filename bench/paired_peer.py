"""scipy's bootstrap and ranx's randomisation test of pairs of runs, for bench's row "paired".

python paired_peer.py PEERS_FOLDER PAIRS CUT qrels.txt run.txt run.txt…

For nDCG@10 of the runs as they are, "full", and cut into pieces of CUT questions that count as runs of their own, "cut":
10,000 resamples and 10,000 permutations of up to PAIRS pairs, evenly spread. Seconds are multiplied to those of all pairs:
each pair is work of its own to both tools. Prints one JSON line in the form of the peers' scripts.
"""
import argparse
import sys

a = argparse.ArgumentParser()
a.add_argument("peers"), a.add_argument("pairs", type=int), a.add_argument("cut", type=int), a.add_argument("files", nargs="+")
a = a.parse_args()
sys.path.insert(0, a.peers)
import common  # noqa: E402  goes to the peers' virtual environment

RESAMPLES = 10_000


def measure(name, systems):
    import numpy as np
    import scipy.stats
    from ranx.statistical_tests.fisher_randomization_test import fisher_randomization_test as fisher
    pairs = [(i, j) for i in range(len(systems)) for j in range(i)]
    some = pairs[::max(1, len(pairs) // a.pairs)][:a.pairs]
    fisher(systems[0], systems[1], 10)                           # compiles

    def test():
        for i, j in some:
            scipy.stats.bootstrap((systems[i] - systems[j],), np.mean, n_resamples=RESAMPLES, method="percentile", batch=200, rng=7)
            fisher(systems[i], systems[j], RESAMPLES)
    common.step("scipy, ranx", f"all pairs, {name}", test, 1, threads=common.CORES, measured_pairs=len(some), pairs=len(pairs))
    row = common.ROWS[-1]
    for field in ("wall_s", "wall_min_s", "cpu_s"):
        row[field] = round(row[field] * len(pairs) / len(some), 5)


def tool():
    from ranx import Qrels, Run, evaluate
    qrels = Qrels.from_file(a.files[0], kind="trec")
    systems = [evaluate(qrels, Run.from_file(f, kind="trec"), "ndcg@10", return_mean=False) for f in a.files[1:]]
    measure("full", systems)
    measure("cut", [s[i:i + a.cut] for s in systems for i in range(0, len(s) - a.cut + 1, a.cut)][:180])


if __name__ == "__main__":
    common.main("paired", {"scipy, ranx": tool}, {"runs": len(a.files) - 1}, ["scipy", "ranx", "numba"])
