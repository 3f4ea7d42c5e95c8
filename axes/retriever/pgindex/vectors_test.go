package pgindex

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	pgxvector "github.com/pgvector/pgvector-go/pgx"
)

// TestVectors_halfEqualsPGVectorGo compares with the codec that questions pass.
func TestVectors_halfEqualsPGVectorGo(t *testing.T) {
	t.Parallel()
	r, row := rand.New(rand.NewPCG(1, 1)), []float32{0, 1, -1, 65504, 65519, 0x1p-14, 0x1p-24, 0x1p-25, 0x1.8p-24, 0x1p-30, 1 + 0x1p-11, 1 + 0x3p-11}
	for range 200_000 {
		x := math.Float32frombits(r.Uint32())
		if math.Abs(float64(x)) < mostHalf {
			row = append(row, x, float32(r.NormFloat64()))
		}
	}
	row = row[:len(row)/100*100]
	v := Vectors{Rows: row, Dim: 100, Half: true}
	for i := range v.Len() {
		want := pgvector.NewHalfVector(v.Row(i))
		encoded, err := pgxvector.HalfVectorCodec{}.PlanEncode(nil, 0, pgx.BinaryFormatCode, want).Encode(want, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.AppendRow(nil, i)
		if err != nil || !bytes.Equal(encoded, got) {
			t.Fatalf("%v: %x, want %x, %v", v.Row(i), got, encoded, err)
		}
	}
}

func TestVectors_direction(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, test := range []struct {
		half, directed, refused bool
		row                     []float32
	}{
		{false, true, false, []float32{0, 1e-10}},
		{false, false, false, []float32{0, 1e-20}},
		{false, false, false, []float32{0, 0}},
		{false, false, true, []float32{nan, 0}},
		{false, false, true, []float32{inf, 0}},
		{false, true, false, []float32{9e18, 0}},
		{false, false, true, []float32{1e19, 0}},
		{true, true, false, []float32{65519, 0}},
		{true, false, true, []float32{65520, 0}},
		{true, false, false, []float32{0x1p-25, -0x1p-25}},
		{true, true, false, []float32{0x1.8p-25, 0}},
	} {
		directed, err := Vectors{Dim: 2, Half: test.half}.Direction(test.row)
		if directed != test.directed || (err != nil) != test.refused {
			t.Errorf("%v, half %v: %v, %v", test.row, test.half, directed, err)
		}
	}
}
