package web_test

import (
	"testing"

	"raglab/internal/web"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ address, name, want string }{
		{"https://api.example.org/v1/", "", "api.example.org/v1"},
		{"http://localhost:8080", "", "localhost:8080"},
		{"http://user:pass@host/x", "", "host/x"},
		{"http://10.0.0.7:80", "old.example.org", "old.example.org"},
		{"http://10.0.0.7:80", "https://old.example.org/", "old.example.org"},
	} {
		if got := web.Identity(tt.address, tt.name); got != tt.want {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
}
