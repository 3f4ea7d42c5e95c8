package onnxtest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"raglab/internal/onnx"
)

// The special tokens of the tokenizers that this package writes, in the order of
// their ids.
var specials = []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]"}

// The ids of the special tokens.
const (
	padID = iota
	unkID
	clsID
	sepID
)

// writeFolder writes a model's folder: model.onnx, tokenizer.json and config.json.
func writeFolder(dir string, m *onnx.Model, pieces []string, positions int) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	tokenizer, err := json.MarshalIndent(wordPiece(pieces), "", " ")
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{"model_type": "bert", "max_position_embeddings": positions})
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return err
	}
	_, err = m.WriteTo(f)
	return errors.Join(err, f.Close(),
		os.WriteFile(filepath.Join(dir, "tokenizer.json"), tokenizer, 0o666),
		os.WriteFile(filepath.Join(dir, "config.json"), config, 0o666))
}

type object = map[string]any

// wordPiece is a tokenizer file as BERT's are: lower case, words and punctuation,
// [CLS] A [SEP] B [SEP] with types 0 and 1. Its pieces are the special tokens and
// those given.
func wordPiece(pieces []string) object {
	vocab, added := object{}, []object{}
	for id, s := range specials {
		vocab[s] = id
		added = append(added, object{
			"id": id, "content": s, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true,
		})
	}
	for i, p := range pieces {
		vocab[p] = len(specials) + i
	}
	token := func(name string, kind int) object { return object{"SpecialToken": object{"id": name, "type_id": kind}} }
	text := func(which string, kind int) object { return object{"Sequence": object{"id": which, "type_id": kind}} }
	single := []object{token("[CLS]", 0), text("A", 0), token("[SEP]", 0)}
	return object{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added,
		"normalizer":    object{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": false, "lowercase": true},
		"pre_tokenizer": object{"type": "BertPreTokenizer"},
		"post_processor": object{
			"type": "TemplateProcessing", "single": single,
			"pair": append(append([]object{}, single...), text("B", 1), token("[SEP]", 1)),
			"special_tokens": object{
				"[CLS]": object{"id": "[CLS]", "ids": []int{clsID}, "tokens": []string{"[CLS]"}},
				"[SEP]": object{"id": "[SEP]", "ids": []int{sepID}, "tokens": []string{"[SEP]"}},
			},
		},
		"decoder": nil,
		"model": object{
			"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": continuing,
			"max_input_chars_per_word": 100, "vocab": vocab,
		},
	}
}

// continuing is what pieces within a word begin with.
const continuing = "##"
