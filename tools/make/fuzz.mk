# SPDX-License-Identifier: Apache-2.0
# Fuzzers.

# Every target is one file with LLVMFuzzerTestOneInput, linked with the layers that make no system calls, the files
# of src/host that read texts and sysfs, and the models of the agent's peers. Builds: address (with
# UBSan) and memory, fast without sanitizers for long runs, reach for coverage with tests/fuzz/replay.c as its engine.
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_SOURCES := $(filter-out $(MAIN) src/host/%,$(SOURCES)) $(SIM_MODELS) \
	$(addprefix src/host/,node/probe.c node/reading.c apiserver/resolver.c system.c node/telemetry.c)
FUZZ_FLAGS := $(LANGUAGE) -O1 -g -fno-omit-frame-pointer
# The engine traces the agent's comparisons; tracing those of the targets only costs time.
FUZZ_OWN := -fno-sanitize-coverage=trace-cmp
FUZZ_SECONDS ?= 8
# The same inputs each time, so that a failure comes from the change and not from chance; 0: other inputs each time.
FUZZ_SEED ?= 1

# $(1) name, $(2) flags of all code, $(3) engine: flag or object, $(4) flags of our code only, $(5) not empty: with
# the libraries that targets compare with
define fuzz_build
fuzz_$(1)_OBJ := $$(BUILD)/obj/fuzz/$(1)
# A variable: a comma in flags that stand in a call would end its argument.
fuzz_$(1)_FLAGS := $(2) $(4)
fuzz_$(1)_OBJECTS := $$(FUZZ_SOURCES:%.c=$$(fuzz_$(1)_OBJ)/%.o) $$(NANOPB_NAMES:%=$$(fuzz_$(1)_OBJ)/nanopb/%.o)
fuzz_$(1)_TARGETS := $$(FUZZ_TARGETS:%=$$(BUILD)/fuzz/$(1)/%)
DEPENDENCIES += $$(fuzz_$(1)_OBJECTS:.o=.d) $$(FUZZ_TARGETS:%=$$(fuzz_$(1)_OBJ)/tests/fuzz/fuzz_%.d)

$$(BUILD)/fuzz/$(1)/%: $$(fuzz_$(1)_OBJ)/tests/fuzz/fuzz_%.o $$(fuzz_$(1)_OBJ)/libagent.a $(filter %.o,$(3))
	$$(call show,LINK,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CLANG) $(2) $(3) -o $$@ $$(filter-out $(filter %.o,$(3)),$$^) \
		$(if $(5),$$$$(sed -n 's/^ [*] Links: //p' tests/fuzz/fuzz_$$*.c)) $$(FUZZ_STANDARD)

# The part of a target that is C++, its line "With:": without a sanitizer, as the library that it calls is.
$(if $(5),$$(BUILD)/fuzz/$(1)/protobuf: $$(fuzz_$(1)_OBJ)/tests/fuzz/protobuf_oracle.o)
$(if $(5),$$(BUILD)/fuzz/$(1)/protobuf: FUZZ_STANDARD := -lstdc++)

$$(fuzz_$(1)_OBJ)/%.o: %.cc $(wildcard proto/*.proto) $$(fuzz_$(1)_OBJ)/flags
	$$(call show,CXX,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CLANGXX) -std=c++17 -O2 -g $$(WARNINGS) -I. -MMD -MP -c $$< -o $$@

$$(fuzz_$(1)_OBJ)/libagent.a: $$(fuzz_$(1)_OBJECTS)
	@rm -f $$@
	$$(Q)ar rcs $$@ $$^

$$(fuzz_$(1)_OBJ)/flags: FORCE
	$$(call remember,$$@,$$(shell $$(CLANG) --version | head -n 1) $$(fuzz_$(1)_FLAGS) $$(WARNINGS) $$(DEFINES) $$(INCLUDES) $$(FUZZ_SOURCES))

$$(fuzz_$(1)_OBJ)/%.o: %.c $$(fuzz_$(1)_OBJ)/flags
	$$(call show,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CCACHE) $$(CLANG) $(2) $(4) $$(if $$(filter tests/%,$$<),$$(FUZZ_OWN)) $$(WARNINGS) $$(DEFINES) \
		$(if $(5),,-DFUZZ_ALONE) '-DBUILD_ID="fuzz"' $$(INCLUDES) -MMD -MP -c $$< -o $$@

$$(fuzz_$(1)_OBJ)/nanopb/%.o: $$(NANOPB_DIR)/%.c $$(fuzz_$(1)_OBJ)/flags
	$$(call show,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CLANG) $(2) $$(DEFINES) $$(INCLUDES) -c $$< -o $$@
endef

ifneq ($(filter $(FUZZ_GOALS),$(MAKECMDGOALS)),)
FUZZ_MEMORY := -fsanitize=fuzzer -Wl$(COMMA)--wrap=syscall $(BUILD)/obj/fuzz/memory/tests/memory/syscall.o
FUZZ_ADDRESS := $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
$(eval $(call fuzz_build,address,$(FUZZ_ADDRESS),-fsanitize=fuzzer,,libraries))
$(eval $(call fuzz_build,memory,$(FUZZ_FLAGS) -fsanitize=fuzzer-no-link$(COMMA)memory -fno-sanitize-recover=all,$(FUZZ_MEMORY),,))
$(eval $(call fuzz_build,fast,$(LANGUAGE) -O2 -g -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp,-fsanitize=fuzzer,,libraries))
FUZZ_REPLAY := $(BUILD)/obj/fuzz/reach/tests/fuzz/replay.o
$(eval $(call fuzz_build,reach,$(LANGUAGE) -O0 -g -fprofile-instr-generate,$(FUZZ_REPLAY),-fcoverage-mapping,libraries))
endif

.PHONY: fuzz
fuzz: $(fuzz_address_TARGETS) $(fuzz_memory_TARGETS)
	@/usr/bin/python3 tools/fuzz/fuzz.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) $(FUZZ_TARGETS)

.PHONY: fuzz-defects
fuzz-defects: $(fuzz_address_TARGETS)
	@FUZZ_COMPILE='$(CLANG) $(FUZZ_ADDRESS) $(subst ','"'"',$(DEFINES)) $(INCLUDES)' \
		/usr/bin/python3 tools/fuzz/defects.py agent data wire

.PHONY: fuzz-coverage
fuzz-coverage: $(fuzz_reach_TARGETS)
	@/usr/bin/python3 tools/fuzz/fuzz_coverage.py $(FUZZ_TARGETS)

# Hours, one target at a time, at the lowest priority; to be called again until nothing is missing.
CAMPAIGN_SECONDS ?= 3600
CAMPAIGN_SLICE ?= 60
.PHONY: fuzz-campaign fuzz-campaign-state fuzz-ledger
fuzz-campaign: $(fuzz_fast_TARGETS) $(fuzz_address_TARGETS) $(fuzz_memory_TARGETS)
	@nice -n 15 /usr/bin/python3 tools/fuzz/campaign.py run --seconds $(CAMPAIGN_SECONDS) --slice $(CAMPAIGN_SLICE) $(TARGETS)
	@/usr/bin/python3 tools/fuzz/campaign.py ledger

fuzz-campaign-state:
	@/usr/bin/python3 tools/fuzz/campaign.py state

fuzz-ledger:
	@/usr/bin/python3 tools/fuzz/campaign.py ledger

# The build of OSS-Fuzz without its images, as root.
.PHONY: fuzz-elsewhere
fuzz-elsewhere:
	@tools/fuzz/elsewhere.sh $(BUILDS)

# For an outside fuzzing service, which sets CC, CFLAGS and LIB_FUZZING_ENGINE. Installs nothing.
.PHONY: fuzz-targets
fuzz-targets:
	@CC='$(FUZZ_CC)' FUZZ_SOURCES='$(FUZZ_SOURCES)' tools/fuzz/fuzz_targets.sh '$(OUT)'
