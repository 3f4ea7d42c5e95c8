package source_test

import (
	"os"
	"testing"

	"raglab/internal/pg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
