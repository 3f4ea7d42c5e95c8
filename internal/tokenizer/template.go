package tokenizer

// template is what a post-processor makes of one or two texts: a list of parts.
type template []templatePart

// templatePart is a text or some special tokens.
type templatePart struct {
	text    int // textA, textB or noText
	special []int32
	typeID  int32
}

const (
	noText = iota
	textA
	textB
)

// specials returns how many special tokens the template adds.
func (t template) specials() int {
	n := 0
	for _, p := range t {
		n += len(p.special)
	}
	return n
}

func text(which int, typeID int32) templatePart { return templatePart{text: which, typeID: typeID} }

func special(id, typeID int32) templatePart {
	return templatePart{special: []int32{id}, typeID: typeID}
}

// templates are the ones for a single text and for a pair.
type templates struct {
	single, pair template
}

// bareTemplates add nothing.
func bareTemplates() templates {
	return templates{template{text(textA, 0)}, template{text(textA, 0), text(textB, 1)}}
}

// bertTemplates are [CLS] A [SEP] and [CLS] A [SEP] B [SEP].
func bertTemplates(cls, sep int32) templates {
	single := template{special(cls, 0), text(textA, 0), special(sep, 0)}
	return templates{single, append(single[:3:3], text(textB, 1), special(sep, 1))}
}

// robertaTemplates are <s> A </s> and <s> A </s></s> B </s>, with one type.
func robertaTemplates(cls, sep int32) templates {
	single := template{special(cls, 0), text(textA, 0), special(sep, 0)}
	return templates{single, append(single[:3:3], special(sep, 0), text(textB, 0), special(sep, 0))}
}

// readTemplates reads the field "post_processor".
func readTemplates(r *jsonReader) templates {
	if r.null() {
		return bareTemplates()
	}
	switch kind := r.typeName(); kind {
	case "BertProcessing":
		return bertTemplates(readBounds(r))
	case "RobertaProcessing":
		return robertaTemplates(readBounds(r))
	case "TemplateProcessing":
		return readTemplateProcessing(r)
	case "Sequence":
		return readProcessors(r)
	case "ByteLevel": // changes offsets alone
		r.skip()
		return bareTemplates()
	default:
		r.fail("post-processor %q is not supported", shorten(kind))
		return templates{}
	}
}

// readProcessors reads a sequence of post-processors, of which one at most may
// add tokens.
func readProcessors(r *jsonReader) templates {
	all, adding := bareTemplates(), false
	r.list("processors", func() {
		t := readTemplates(r)
		if t.single.specials() == 0 && t.pair.specials() == 0 {
			return
		}
		if adding {
			r.fail("a second post-processor that adds tokens is not supported")
		}
		all, adding = t, true
	})
	return all
}

// readBounds reads the tokens that BertProcessing and RobertaProcessing name.
func readBounds(r *jsonReader) (cls, sep int32) {
	cls, sep = noToken, noToken
	pair := func() int32 {
		id := int32(noToken)
		r.array(func(i int) {
			switch i {
			case 0:
				r.text()
			case 1:
				id = r.id()
			default:
				r.fail("expected a pair of token and id")
			}
		})
		return id
	}
	r.object(func(field string) {
		switch field {
		case "cls":
			cls = pair()
		case "sep":
			sep = pair()
		default:
			r.skip()
		}
	})
	r.require(cls != noToken, "cls")
	r.require(sep != noToken, "sep")
	return cls, sep
}

// namedPart is a part of a template whose special token is still a name.
type namedPart struct {
	templatePart
	name string
}

func readTemplateProcessing(r *jsonReader) templates {
	var single, pair []namedPart
	specials := map[string][]int32{}
	r.object(func(field string) {
		switch field {
		case "single":
			single = readTemplate(r)
		case "pair":
			pair = readTemplate(r)
		case "special_tokens":
			r.object(func(name string) { specials[name] = readSpecialIDs(r) })
		default:
			r.skip()
		}
	})
	r.require(single != nil, "single")
	r.require(pair != nil, "pair")
	return templates{resolve(r, single, specials), resolve(r, pair, specials)}
}

// readTemplate reads a list of {"SpecialToken": …} and {"Sequence": …}.
func readTemplate(r *jsonReader) []namedPart {
	parts := []namedPart{}
	r.array(func(int) {
		r.object(func(kind string) {
			var p namedPart
			r.object(func(field string) {
				switch field {
				case "id":
					p.name = r.text()
				case "type_id":
					p.typeID = r.id()
				default:
					r.skip()
				}
			})
			switch {
			case kind == "Sequence" && p.name == "A":
				p.text = textA
			case kind == "Sequence" && p.name == "B":
				p.text = textB
			case kind != "SpecialToken":
				r.fail("expected SpecialToken or Sequence, with an id A or B")
			}
			parts = append(parts, p)
		})
	})
	return parts
}

func readSpecialIDs(r *jsonReader) []int32 {
	var ids []int32
	r.object(func(field string) {
		if field != "ids" {
			r.skip()
			return
		}
		r.array(func(int) { ids = append(ids, r.id()) })
	})
	r.require(ids != nil, "ids")
	return ids
}

// resolve looks up the ids of special tokens.
func resolve(r *jsonReader, parts []namedPart, specials map[string][]int32) template {
	var t template
	for _, p := range parts {
		if p.text == noText {
			ids, ok := specials[p.name]
			if !ok {
				r.fail("the template's token %q is not among special_tokens", shorten(p.name))
			}
			p.special = ids
		}
		t = append(t, p.templatePart)
	}
	return t
}
