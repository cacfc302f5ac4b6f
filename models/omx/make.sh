#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How models/omx/omx.onnx was made: generate, train in two stages, set thresholds, evaluate.
# The steps were run one by one and not yet as this script in one go. Expect an hour and three quarters
# on two cores, 24 GB of memory for stage two (less is slower) and 30 GB of disk below OUT (default
# out/omx_model).
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-out/omx_model}
generate() { ./na nad generate --robot omx --format npz --out "$@"; }

# Training data: 54 hours, of the emulated arm 0 and (a fifth) of six other units, 2 to 7; never of unit 1.
generate "$out/a" --categories training --minutes 480 --seed 11
generate "$out/b" --categories force_labelled --minutes 300 --seed 12
generate "$out/c" --categories force_labelled,holds --minutes 600 --seed 21
generate "$out/d" --categories force_labelled --tasks push --minutes 800 --seed 22
for arm in 2 3 4 5 6 7; do
    generate "$out/e$arm" --arm "$arm" --categories training --minutes 60 --seed "3$arm"
    generate "$out/g$arm" --arm "$arm" --categories force_labelled --tasks push --minutes 40 --seed "4$arm"
done
generate "$out/f" --categories condition --minutes 240 --seed 23

./na train --data "$out/a" --out "$out/encoder" --config models/omx/encoder.yaml --minutes 20 \
    --cache "$out/cache"
./na train --data "$out"/{a,b,c,d,e?,f,g?} --out "$out/heads" --config models/omx/heads.yaml \
    --init "$out/encoder" --minutes 28 --cache "$out/cache"

# Gate thresholds and scale of the variance from recordings that were not trained on; results on others.
generate "$out/thresholds" --categories training --minutes 60 --seed 13
generate "$out/standard" --categories free_motion,force_labelled,condition --minutes 30 --seed 101
generate "$out/suites" --categories suites --minutes 85 --seed 101
./na export --run "$out/heads" --out "$out/omx.onnx" --data "$out/thresholds"
for set in standard suites; do
    ./na eval --model "$out/omx.onnx" --data "$out/$set" --train-data "$out/a" --json "$out/$set.json"
done
./na export --run "$out/heads" --out "$out/omx.onnx" --data "$out/thresholds" \
    --results "$out/standard.json" "$out/suites.json"
