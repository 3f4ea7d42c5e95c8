package param

import "testing"

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"20GB": 20e9, "1.5 MB": 1_500_000, "3 kB": 3000, "7B": 7, "0B": 0, "2TB": 2e12} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "20", "GB", "-1GB", "20 gb", "1e30TB", "NaNGB", "InfB", "20GiB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}

func TestSizeText_isReadAgain(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 3_100_000_000: "3.1 GB", 2e12: "2.0 TB"} {
		if got := SizeText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
		if again, err := ParseSize(want); err != nil || again != n {
			t.Errorf("%q is read as %d, %v", want, again, err)
		}
	}
}
