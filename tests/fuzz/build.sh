#!/bin/bash -eu
# SPDX-License-Identifier: Apache-2.0
# Called in the image of Dockerfile, with CC, CFLAGS, CXX, CXXFLAGS, LIB_FUZZING_ENGINE and OUT.
cd "$SRC/neuron-dra-agent"
make fuzz-targets OUT="$OUT"
