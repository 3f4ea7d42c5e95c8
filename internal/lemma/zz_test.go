package lemma
import ("testing";"github.com/ulikunitz/xz")
func TestZZ(t *testing.T){ f := pack(t, encode(map[string]string{"міста": "місто"}, false, false), xz.WriterConfig{DictCap: 1 << 16}); t.Logf("%d % x", len(f), f) }
