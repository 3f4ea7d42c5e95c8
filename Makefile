# Two targets for a newcomer: quickstart and test. See the README.
export GOFLAGS := -buildvcs=false

.PHONY: build quickstart test test-browser lint bench fuzz clean

build: bin/raglab

bin/raglab: $(shell find . -name '*.go' -not -path './.git/*') go.mod go.sum
	go build -o bin/raglab ./cmd/raglab

# Builds raglab, gets every asset, and runs the quickstart. No server.
quickstart: build
	bin/raglab setup experiments/quickstart.hcl
	bin/raglab apply experiments/quickstart.hcl

test:
	go test -timeout 30m ./...

# The report's page in headless Chromium, which must be there; with RAGLAB_SHOTS=FOLDER
# it leaves pictures.
test-browser:
	CI=true go test -timeout 10m -count=1 ./internal/report/html/...

lint:
	@unformatted=$$(go tool gofumpt -l .); if [ -n "$$unformatted" ]; then echo "not formatted:" $$unformatted; exit 1; fi
	go vet ./...
	go tool staticcheck ./...

# Speed as ratios in one run. The tools to compare with run where they are set up.
bench: build
	go run ./bench

# A short run of every fuzz target.
fuzz:
	bench/fuzz.sh

clean:
	rm -rf bin results
