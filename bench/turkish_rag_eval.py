#!/usr/bin/env python3
"""Runs turkish-rag-eval 0.2.0 and raglab on one folder and compares their BM25 rows.

    python3 bench/turkish_rag_eval.py [--raglab bin/raglab] [--folder DIR]

The folder holds corpus.jsonl and gold.json in that package's format. Without
--folder one is made: articles with headings out of the Turkish paragraphs,
questions and answer spans of ../shared/data/more/tquad. pip puts the package
into a folder of its own (--packages), with what it needs.

Every metric of every row must be equal to 1e-9, and so must the relevance of
every ranked chunk of every question; else the exit status is 1. The times are
those of the whole programs, the package's with its imports.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = ["turkish-rag-eval==0.2.0", "rank-bm25==0.2.2", "numpy<3", "requests<3"]
TOLERANCE = 1e-9
CUTS = (1, 3, 5, 10)
METRICS = {f"{name}@{k}": f"{name}@{k}" for name in ("recall", "precision", "ndcg") for k in CUTS}
METRICS["mrr"] = "mrr@10"  # the package looks at ten hits


def read_lines(path):
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def make_folder(folder, source):
    """Articles of several sections, and every question whose answer is verbatim."""
    articles = {}
    for paragraph in read_lines(source / "docs.jsonl"):
        articles.setdefault(paragraph["title"], []).append(paragraph)
    documents, home = [], {}
    for number, (title, paragraphs) in enumerate(articles.items()):
        doc = f"tr{number * 7919 % 100003}"  # an order of its own, as strings
        text = []
        for i, paragraph in enumerate(paragraphs):
            home[paragraph["_id"]] = (doc, title)
            if i > 0:
                level = "=" * (2 + i % 3)
                words = " ".join(paragraph["text"].split()[:3]).strip(".,:;=")
                text.append(f"\n\n{level} {words} {level}\n")
            # The package takes a heading with a blank or CR behind it for text; raglab does not.
            text.append("\n".join(line.rstrip() for line in paragraph["text"].split("\n")))
        documents.append({"doc_id": doc, "title": title, "text": "".join(text), "url": ""})
    questions = {q["_id"]: q["text"] for q in read_lines(source / "queries.jsonl")}
    gold = []
    for answer in read_lines(source / "answers.jsonl"):
        first = answer["answers"][0]
        if first["verbatim"] and first["text"].strip() and questions[answer["_id"]].strip():
            gold.append({"qid": answer["_id"], "question": questions[answer["_id"]],
                         "doc_id": home[answer["doc"]][0], "doc_title": home[answer["doc"]][1],
                         "answer_span": first["text"]})
    documents.sort(key=lambda d: d["doc_id"])
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as out:
        for document in documents:
            out.write(json.dumps(document, ensure_ascii=False) + "\n")
    (folder / "gold.json").write_text(json.dumps(gold, ensure_ascii=False, indent=1), encoding="utf-8")


def install(packages):
    """Returns the environment in which Python finds the packages."""
    if not (packages / "turkish_rag_eval").exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", packages, *PACKAGES], check=True)
    return dict(os.environ, PYTHONPATH=str(packages))


def timed(command, **options):
    start = time.perf_counter()
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, **options)
    if done.returncode:
        sys.exit(f"{command[0]} ended with {done.returncode}:\n{done.stdout}")
    return time.perf_counter() - start


def theirs(folder, name):
    rows = {(r["chunking"], r["retriever"]): r for r in json.loads((folder / name / "summary.json").read_text(encoding="utf-8"))}
    for (chunking, retriever), row in rows.items():
        path = folder / name / f"perquery_{chunking}_{retriever}.json"
        row["questions"] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def ours(path):
    report = json.loads(path.read_text(encoding="utf-8"))
    return {(c["options"]["chunker"], "bm25_" + c["options"]["text"]): c for c in report["configurations"]}


def worst(row, configuration):
    """The greatest difference over all metrics, and over the questions' values."""
    off = max(abs(row[name] - configuration["metrics"][own]) for name, own in METRICS.items())
    for question in row["questions"]:
        values = configuration["per_question"][question["qid"]]
        if question["total_relevant"] == 0:
            if values["recall@10"] is not None:
                sys.exit(f"question {question['qid']} is left out there and scored here")
            continue
        for k in CUTS:
            hits = sum(question["relevance"][:k])
            off = max(off, abs(hits / question["total_relevant"] - values[f"recall@{k}"]), abs(hits / k - values[f"precision@{k}"]))
    return off


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raglab", type=Path, default=HERE.parent / "bin" / "raglab")
    parser.add_argument("--packages", type=Path, default=Path.home() / ".cache" / "raglab-turkish-rag-eval")
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    environment = install(args.packages)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if args.folder:
            for name in ("corpus.jsonl", "gold.json"):
                (folder / name).write_bytes((args.folder / name).read_bytes())
        else:
            make_folder(folder, HERE.parent.parent / "shared" / "data" / "more" / "tquad" / "neutral-dev")
        there = timed([sys.executable, "-m", "turkish_rag_eval.cli", "run", "--corpus", folder / "corpus.jsonl", "--gold", folder / "gold.json",
                       "--retrievers", "bm25_stem5", "bm25_nostem", "--out", folder / "theirs"], env=environment)
        here = timed([args.raglab.resolve(), "apply", "-quiet", "-cache", folder / "cache", "-var", f"corpus={folder}", HERE / "turkish_rag_eval.hcl"])
        rows, configurations = theirs(folder, "theirs"), ours(folder / "raglab.json")
    if set(rows) != set(configurations):
        sys.exit(f"rows differ: {sorted(rows)} and {sorted(configurations)}")
    failed = False
    print(f"{'chunker':<14}{'retriever':<14}{'scored':>7}{'nDCG@10':>22}{'greatest difference':>21}")
    for key, row in sorted(rows.items()):
        off = worst(row, configurations[key])
        failed |= off > TOLERANCE
        print(f"{key[0]:<14}{key[1]:<14}{row['queries_scored']:>7}{row['ndcg@10']:>22.17f}{off:>21.1e}{'  DIFFERS' if off > TOLERANCE else ''}")
    print(f"turkish-rag-eval 0.2.0: {there:.2f} s, raglab with an empty cache: {here:.2f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
