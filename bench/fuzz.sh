#!/usr/bin/env bash
# Runs every fuzz target of the module for a short time: FUZZTIME each, by default 10s. Arguments: packages, by default
# all that have such targets. Ends with 1 when a target failed; its input is then in the package's testdata/fuzz.
set -uo pipefail
cd "$(dirname "$0")/.."

packages=("$@")
if [ ${#packages[@]} -eq 0 ]; then
    mapfile -t packages < <(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u)
fi
failed=0
for package in "${packages[@]}"; do
    if ! listed=$(go test -list '^Fuzz' "$package"); then
        echo "$listed" >&2
        failed=1
        continue
    fi
    for target in $(grep '^Fuzz' <<<"$listed"); do
        echo "== $package $target"
        go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-10s}" -fuzzminimizetime 20x "$package" || failed=1
    done
done
exit $failed
