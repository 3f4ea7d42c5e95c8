"""Makes the fixtures that raglab's metrics and statistics are tested against.

Run once by a developer; the tests read only what it writes:

    python3 -m venv /tmp/fixtures
    /tmp/fixtures/bin/pip install pytrec_eval-terrier==0.5.11 ir-measures==0.4.3 ranx==0.3.21 numpy==2.4.6 scipy==1.17.1
    /tmp/fixtures/bin/python bench/metrics_fixtures.py

axes/metric/testdata/peers.json: judgements and runs as TREC lines, and what pytrec_eval (trec_eval's own code), ir-measures
and ranx make of each: values by metric and question, and ir-measures' means, which count a question without results as 0.
internal/stats/testdata/peers.json: means, quantiles, permutation tests and bootstrap intervals of numpy and scipy.
"""
import json
import math
import os
import random
import tempfile

import ir_measures
import numpy as np
import pytrec_eval
import ranx
import scipy.stats

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
CUTS = [1, 3, 5, 10]

# raglab's name -> pytrec_eval's. mrr@k is recip_rank of a run cut at k.
PYTREC_EVAL = {
    **{f"recall@{k}": f"recall_{k}" for k in CUTS},
    **{f"precision@{k}": f"P_{k}" for k in CUTS},
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in CUTS},
    **{f"map@{k}": f"map_cut_{k}" for k in CUTS},
    **{f"hit@{k}": f"success_{k}" for k in CUTS},
    **{f"success@{k}": f"success_{k}" for k in CUTS},
    "ndcg": "ndcg", "map": "map", "mrr": "recip_rank", "rprec": "Rprec",
}
IR_MEASURES = {
    **{f"recall@{k}": f"R@{k}" for k in CUTS},
    **{f"precision@{k}": f"P@{k}" for k in CUTS},
    **{f"ndcg@{k}": f"nDCG@{k}" for k in CUTS},
    **{f"ndcg_exp@{k}": f"nDCG(dcg='exp-log2')@{k}" for k in CUTS},
    **{f"map@{k}": f"AP@{k}" for k in CUTS},
    **{f"mrr@{k}": f"RR@{k}" for k in CUTS},
    **{f"success@{k}": f"Success@{k}" for k in CUTS},
    **{f"judged@{k}": f"Judged@{k}" for k in CUTS},
    "ndcg": "nDCG", "map": "AP", "mrr": "RR", "rprec": "Rprec",
}
RANX = {
    **{f"recall@{k}": f"recall@{k}" for k in CUTS},
    **{f"precision@{k}": f"precision@{k}" for k in CUTS},
    **{f"ndcg@{k}": f"ndcg@{k}" for k in CUTS},
    **{f"ndcg_exp@{k}": f"ndcg_burges@{k}" for k in CUTS},
    **{f"map@{k}": f"map@{k}" for k in CUTS},
    **{f"mrr@{k}": f"mrr@{k}" for k in CUTS},
    **{f"hit@{k}": f"hit_rate@{k}" for k in CUTS},
    **{f"f1@{k}": f"f1@{k}" for k in CUTS},
    "ndcg": "ndcg", "ndcg_exp": "ndcg_burges", "map": "map", "mrr": "mrr", "rprec": "r-precision",
}


def ranked(*docs):
    """A run in which each document has a score of its own."""
    return {d: float(len(docs) - i) for i, d in enumerate(docs)}


def hand_made():
    yield "grades", {
        "1": {"a": 3, "b": 1, "c": 2, "d": 0}, "2": {"a": 3, "b": 1}, "3": {"a": 1, "b": 1, "c": 2, "d": 4, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1, "k": 1, "l": 2},
    }, {
        "1": ranked("a", "c", "b", "d"), "2": ranked("b", "a"), "3": ranked("l", "d", "x", "a", "c", "y", "b", "z", "e", "w", "f", "g"),
    }
    yield "unjudged", {
        "1": {"a": 1, "b": 1}, "2": {"a": 1, "b": 0, "c": 2},
    }, {
        "1": ranked("x", "y", "a", "z", "w", "b"), "2": ranked("b", "x", "c"),
    }
    yield "short", {          # fewer results than the cut-off, and than there are relevant documents
        "1": {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}, "2": {"a": 1}, "3": {"a": 2, "b": 1},
    }, {
        "1": ranked("a", "b"), "2": ranked("a"), "3": ranked("x"),
    }
    yield "negative", {       # below 0: in the pool, not judged
        "1": {"a": 1, "b": -1, "c": 0, "d": 2}, "2": {"a": -2, "b": 1},
    }, {
        "1": ranked("b", "d", "c", "a"), "2": ranked("a", "x", "b"),
    }
    yield "missing and extra", {
        "1": {"a": 1}, "2": {"a": 1, "b": 1}, "3": {"c": 2},
    }, {
        "1": ranked("a", "b"), "3": ranked("x", "c"), "9": ranked("a"),
    }
    yield "nothing relevant", {
        "1": {"a": 0, "b": 0}, "2": {"a": 1},
    }, {
        "1": ranked("a", "b"), "2": ranked("b", "a"),
    }
    yield "all tied", {
        "1": {"a": 1}, "2": {"c": 2, "a": 1}, "3": {"d10": 1, "d9": 1},
    }, {
        "1": dict.fromkeys(["a", "b", "c"], 1.0), "2": dict.fromkeys(["a", "b", "c", "d"], 0.5),
        "3": dict.fromkeys(["d9", "d10", "d8"], 2.0),
    }
    yield "some tied", {
        "1": {"a": 3, "d": 1, "f": 2},
    }, {
        "1": {"a": 1.0, "b": 2.0, "c": 1.0, "d": 2.0, "e": 3.0, "f": 1.0},
    }


def generated(seed, questions, ties):
    """Judgements of grades 0 to 3 and rankings of up to 25 documents, some of them judged."""
    rng = random.Random(seed)
    qrels, run = {}, {}
    for q in range(questions):
        docs = [f"d{i}" for i in rng.sample(range(60), 30)]
        qrels[str(q)] = {d: rng.choice([0, 0, 0, 1, 1, 2, 3]) for d in docs[:rng.randint(2, 14)]}
        qrels[str(q)][docs[0]] = 1
        rng.shuffle(docs)
        docs = docs[:rng.randint(1, 25)]
        scores = [rng.randrange(4) / 4 for _ in docs] if ties else rng.sample(range(1000), len(docs))
        run[str(q)] = {d: float(s) for d, s in zip(docs, scores)}
    return qrels, run


def cases():
    yield from hand_made()
    yield "generated", *generated(1, 8, ties=False)
    yield "generated with ties", *generated(2, 5, ties=True)


def pytrec_eval_values(qrels, run):
    out = {}
    cuts = ",".join(map(str, CUTS))
    measures = {f"{m}.{cuts}" for m in ("recall", "P", "ndcg_cut", "map_cut", "success")} | {"ndcg", "map", "recip_rank", "Rprec"}
    rows = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    for name, theirs in PYTREC_EVAL.items():
        out[name] = {q: row[theirs] for q, row in rows.items()}
    for k in CUTS:
        cut = {q: dict(sorted(docs.items(), key=lambda x: (x[1], x[0]), reverse=True)[:k]) for q, docs in run.items()}
        rows = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(cut)
        out[f"mrr@{k}"] = {q: row["recip_rank"] for q, row in rows.items()}
    return out


def ir_measures_values(qrels, run):
    values, means = {}, {}
    for name, theirs in IR_MEASURES.items():
        if "exp-log2" in theirs and any(g < 0 for docs in qrels.values() for g in docs.values()):
            continue          # gdeval, which computes it to five digits, refuses negative grades
        measure = ir_measures.parse_measure(theirs)
        values[name] = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
        means[name] = ir_measures.calc_aggregate([measure], qrels, run)[measure]
    return values, means


def ranx_values(qrels, run):
    q, r = ranx.Qrels(qrels), ranx.Run(run)
    r.make_comparable(q)
    ranx.evaluate(q, r, list(RANX.values()))
    return {name: {question: float(v) for question, v in r.scores[theirs].items()} for name, theirs in RANX.items()}


def duplicates():
    """What each tool makes of a run that ranks document a twice."""
    lines = ["1 Q0 a 1 3 t", "1 Q0 b 2 2 t", "1 Q0 a 3 1 t"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.txt")
        with open(path, "w") as f:
            f.write("\n".join(lines) + "\n")
        tools = {
            "pytrec_eval": lambda: pytrec_eval.parse_run(open(path))["1"],
            "ir_measures": lambda: ir_measures.calc_aggregate([ir_measures.RR], {"1": {"b": 1}}, list(ir_measures.read_trec_run(path)))[ir_measures.RR],
            "ranx": lambda: dict(ranx.Run.from_file(path, kind="trec").run["1"]),
        }
        said = {}
        for tool, read in tools.items():
            try:
                said[tool] = f"accepted: {read()}"
            except Exception as e:      # what is said is the fixture
                said[tool] = f"refused: {type(e).__name__}: {e}"
    return {"qrels": ["1 0 b 1"], "run": lines, "said": said}


def metrics():
    out = []
    for name, qrels, run in cases():
        values, means = ir_measures_values(qrels, run)
        out.append({
            "name": name,
            "qrels": [f"{q} 0 {d} {g}" for q, docs in qrels.items() for d, g in docs.items()],
            "run": [f"{q} Q0 {d} {i} {s:g} t" for q, docs in run.items() for i, (d, s) in enumerate(docs.items())],
            "pytrec_eval": pytrec_eval_values(qrels, run), "ir_measures": values, "ranx": ranx_values(qrels, run), "ir_measures_means": means,
        })
    return {"cases": out, "duplicates": duplicates()}


def statistics():
    rng = np.random.default_rng(11)
    few, many = np.round(rng.normal(0.1, 0.2, 9), 3), np.round(rng.normal(0.09, 0.25, 60), 3)
    sign_flips = {"permutation_type": "samples", "vectorized": False}
    mean = lambda x: math.fsum(x) / len(x)
    bootstrap = scipy.stats.bootstrap((many,), np.mean, n_resamples=100_000, method="percentile", rng=3).confidence_interval
    percents = [1, 5, 25, 50, 75, 90, 95, 99, 100]
    nineteen = np.round(np.random.default_rng(19).normal(0.1, 0.25, 19), 3)
    return {
        "few": few.tolist(), "many": many.tolist(),
        "exact_p_few": scipy.stats.permutation_test((few,), mean, n_resamples=np.inf, **sign_flips).pvalue,
        "p_many": scipy.stats.permutation_test((many,), mean, n_resamples=50_000, rng=5, **sign_flips).pvalue,
        "mean_many": mean(many), "deviation_many": float(np.std(many, ddof=1)),
        "bootstrap_many": [float(bootstrap.low), float(bootstrap.high)],
        "percents": percents,
        "nearest_rank_many": [float(np.percentile(many, p, method="inverted_cdf")) for p in percents],
        "linear_many": [float(np.percentile(many, p)) for p in percents],
        "wilcoxon": wilcoxon(rng),
        "nineteen": nineteen.tolist(),
        "exact_p_nineteen": scipy.stats.permutation_test((nineteen,), mean, n_resamples=np.inf, **sign_flips).pvalue,
        "smallest_detectable_many": float((scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(0.8)) * np.std(many, ddof=1) / math.sqrt(len(many))),
    }


def wilcoxon(rng):
    """Differences with and without ties and zeros, of the sizes at which scipy's method "auto" changes."""
    grades = np.array([0, 0, 0.25, 0.5, -0.25, 0.125, 1, -1])
    cases = [np.round(rng.normal(0.05, 0.3, n), 6) for n in (1, 2, 6, 13, 14, 30, 50, 51, 200)]
    cases += [rng.choice(grades, n) for n in (5, 13, 14, 40, 51, 300)]
    cases += [np.append(np.round(rng.normal(0.1, 0.3, n), 6), 0) for n in (8, 12, 13, 45)]
    return [{"diffs": d.tolist(), "p": float(scipy.stats.wilcoxon(d, zero_method="wilcox").pvalue)} for d in cases if np.any(d)]


def write(path, value):
    path = os.path.join(ROOT, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        json.dump(value, f, indent=None, separators=(",", ":"))
        f.write("\n")
    print(path, os.path.getsize(path), "bytes")


if __name__ == "__main__":
    write("axes/metric/testdata/peers.json", metrics())
    write("internal/stats/testdata/peers.json", statistics())
