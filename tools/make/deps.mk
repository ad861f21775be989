# SPDX-License-Identifier: Apache-2.0
# What the machine needs, and the search for sources.

# Goals that compile nothing work without the tools of the build.
BARE_GOALS := help clean deps deps-mirrors docs cluster-down demo-debian fuzz-targets fuzz-elsewhere fuzz-campaign-state
ifneq ($(filter-out $(BARE_GOALS),$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/deps/paths.mk
endif

# The goals that build the unit tests with clang need its flags when the Makefile is read.
CLANG_GOALS := sanitize coverage
MUTANT_GOALS := mutants mutants-sample build/mutants/%
FUZZ_GOALS := fuzz fuzz-coverage fuzz-defects fuzz-campaign build/fuzz/%
# Runs at every start; the file is written only when a path changed.
$(BUILD)/deps/paths.mk: FORCE
	@tools/build/deps.sh $(if $(filter $(CLANG_GOALS) $(FUZZ_GOALS) $(MUTANT_GOALS),$(MAKECMDGOALS)),test,build)

.PHONY: deps-mirrors
deps-mirrors: deps-test
	@/usr/bin/python3 tests/deps/run.py

.PHONY: deps deps-demo deps-test deps-all
deps: deps-all
deps-demo:
	@tools/build/deps.sh demo
deps-test:
	@tools/build/deps.sh test
deps-all:
	@tools/build/deps.sh all
