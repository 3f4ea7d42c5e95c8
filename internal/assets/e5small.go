package assets

// E5Small is multilingual-e5-small with 32-bit weights, from Hugging Face. It is
// not pinned here: a project's lock file names the commit and the digests
// ([Store.Pin] finds them, [Asset.WithPin] applies them).
func E5Small() Asset {
	return Repository("multilingual-e5-small", "intfloat/multilingual-e5-small", "MIT",
		"sentence encoder for 100 languages, 384 dimensions, 32-bit weights",
		map[string]string{"model.onnx": "onnx/model.onnx", "tokenizer.json": "tokenizer.json"})
}
