package workspace

import (
	"math"
	"slices"
	"strings"
	"testing"

	"raglab/golden"
)

// Figures of turkish-rag-eval 0.2.0: span_iou and span_f1 of package agreement,
// overlap of validate_gold.
func TestWords_turkishAgreementAsPublished(t *testing.T) {
	t.Parallel()
	w := &Workspace{}
	words, err := w.Words(t.Context(), nil, "tr-TR", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b            string
		iou, f1, copied float64
	}{
		{"yaklaşık %25'i, diyabet teşhisi konulduğunda", "diyabet teşhisi konulduğunda ketoasidoz gelişmiştir", 3. / 7, 0.6, 0.6},
		{"ISPARTA'da gül yağı üretimi", "Isparta gülü ve yağı", 0.4, 4. / 7, 0.5},
		{"İltihaplı bağırsak hastalıkları", "bağırsak iltihabı hastalığı", 1, 1, 1},
		{"bu bir ile ve", "o da", 1, 1, 1},
		{"1.000 kişi, 1.000 köy", "1.000 köy", 2. / 3, 2. / 3, 2. / 3},
		{"40-50 yaş arasındaki kişilerin sürekli olarak", "elli yaşındakiler", 0, 0, 0},
		{"Kafein çay ve kahvede", "çayda kahvede kafein kafein", 0.5, 4. / 7, 2. / 3},
	} {
		by := func(name, span string) golden.Annotation {
			return golden.Annotation{Annotator: name, Relevant: []golden.Relevant{{Doc: "d", Span: span, Grade: 1}}}
		}
		got := golden.Agree([]golden.Annotated{{By: []golden.Annotation{by("x", c.a), by("y", c.b)}}}, words, golden.ByF1, nil)
		copied := golden.CopiedShare(c.a, c.b, words)
		for what, pair := range map[string][2]float64{"IoU": {got.IoU, c.iou}, "F1": {got.F1, c.f1}, "copied": {copied, c.copied}} {
			if math.Abs(pair[0]-pair[1]) > 1e-15 {
				t.Errorf("%q, %q: %s %v, want %v", c.a, c.b, what, pair[0], pair[1])
			}
		}
	}
}

func TestWords_otherLanguages(t *testing.T) {
	t.Parallel()
	w := &Workspace{}
	words, err := w.Words(t.Context(), nil, "uk", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := words("Чия це РІЧКА — 2201 км?"); !slices.Equal(got, []string{"чия", "це", "річка", "2201", "км"}) {
		t.Errorf("%q", got)
	}
	if _, err := w.Words(t.Context(), nil, "uk", "stem"); err == nil || !strings.Contains(err.Error(), `no spec with a text option "stem"`) {
		t.Errorf("%v", err)
	}
}
