# Two targets for a newcomer: quickstart and test. See the README.
# Google's storage library goes over HTTP here: gRPC would be a fifth of the program.
export GOFLAGS := -buildvcs=false -tags=disable_grpc_modules

.PHONY: build quickstart test test-browser test-fleet lint bench fuzz clean

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

# The tests of several hosts, with one that embeds for ten minutes, which reads
# ../shared: on hosts of network namespaces where the system makes them (as root), then
# all but that one on hosts that are processes.
test-fleet: build
	bin/raglab setup experiments/uk_unlp.hcl
	go test -timeout 60m -count=1 -run '^Test(Fleet|LAN)_' ./cmd/raglab -fleet
	go test -timeout 30m -count=1 -run '^TestFleet_' ./cmd/raglab -lan processes

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
