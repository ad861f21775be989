# SPDX-License-Identifier: Apache-2.0
# The gates of `make check`, the objects and programs that they read, and what the sources are written from.

# Every warning of gcc 12 that is worth a rule for hand-written C. Generated code is its generator's.
STRICT := -Wall -Wextra -Wpedantic -Werror -Wconversion -Wsign-conversion -Wshadow \
	-Wstrict-prototypes -Wmissing-prototypes -Wmissing-declarations -Wold-style-definition -Wredundant-decls \
	-Wnested-externs -Wcast-qual -Wcast-align=strict -Wbad-function-cast -Wpointer-arith -Wwrite-strings \
	-Wformat=2 -Wformat-signedness -Wundef -Wvla -Walloca -Wduplicated-cond -Wduplicated-branches -Wlogical-op \
	-Wnull-dereference -Wdouble-promotion -Wfloat-equal -Wjump-misses-init -Wtrampolines -Wdate-time \
	-Wimplicit-fallthrough=5 -Wunused-macros -Wstringop-overflow=4 -Warray-bounds=2 \
	-Wshift-overflow=2
# cmocka's tables cast away const, and mocks need no prototypes.
STRICT_TESTS := $(STRICT) -Wno-cast-qual -Wno-missing-prototypes -Wno-missing-declarations
GENERATED_WARNINGS := -Wall -Wextra -Werror

CHECK := $(BUILD)/obj/check
CALLS := $(BUILD)/obj/calls
CHECK_FLAGS = $(LANGUAGE) -Os $(HARDEN) $(PREFIX_MAP) $(DEFINES) '-DBUILD_ID="check"' $(INCLUDES)
CALLS_FLAGS = $(LANGUAGE) -O0 $(DEFINES) '-DBUILD_ID="check"' $(INCLUDES)
CHECK_SOURCES := $(SOURCES) $(NANOPB_NAMES:%=nanopb/%.c)
CHECK_OBJECTS := $(CHECK_SOURCES:%.c=$(CHECK)/%.o) $(CHECK_SOURCES:%.c=$(CALLS)/%.o) \
	$(patsubst %.c,$(CHECK)/%.o,$(TEST_SOURCES) $(SIM_MODELS) $(wildcard tests/sim/*/*.c tests/fuzz/*.c tests/interop/*.c)) $(CHECK)/budget.o

.PHONY: check-objects
check-objects: $(CHECK_OBJECTS) $(BUILD)/lint/flags

# What the linters and analysers (tools/gates/lint.py) hand to their compilers.
$(BUILD)/lint/flags: FORCE
	$(call remember,$@,$(LANGUAGE) $(DEFINES) '-DBUILD_ID="check"' $(INCLUDES))

$(CHECK)/flags: FORCE
	$(call remember,$@,$(COMPILER) $(CHECK_FLAGS) $(STRICT_TESTS) $(CALLS_FLAGS))

$(CHECK)/generated/%.o: generated/%.c $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(CHECK_FLAGS) $(GENERATED_WARNINGS) -fcallgraph-info=su,da -MMD -MP -c $< -o $@

$(CHECK)/nanopb/%.o: $(NANOPB_DIR)/%.c $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(CHECK_FLAGS) -fcallgraph-info=su,da -c $< -o $@

$(CHECK)/tests/%.o: tests/%.c $(CHECK)/flags | deps-test
	@mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(CHECK_FLAGS) $(STRICT_TESTS) -MMD -MP -c $< -o $@

$(CHECK)/%.o: %.c $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(CHECK_FLAGS) $(STRICT) -fcallgraph-info=su,da -MMD -MP -c $< -o $@

# The sums of cfg/budget.h are static assertions: compiling them is the check.
$(CHECK)/budget.o: cfg/budget.h $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)echo '#include "cfg/budget.h"' | $(MUSL_CC) $(CHECK_FLAGS) $(STRICT) -MMD -MP -MT $@ -x c -c - -o $@

$(CALLS)/nanopb/%.o: $(NANOPB_DIR)/%.c $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(CALLS_FLAGS) -fcallgraph-info=su,da -c $< -o $@

$(CALLS)/%.o: %.c $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(CALLS_FLAGS) -fcallgraph-info=su,da -MMD -MP -c $< -o $@

.PHONY: check
check: deps-test
	@/usr/bin/python3 tools/gates/check.py

.PHONY: check-fast
check-fast: deps-test
	@/usr/bin/python3 tools/gates/check.py --fast

.PHONY: advisories
advisories: all
	@/usr/bin/python3 tools/gates/check_advisories.py $(if $(TRACKER),--tracker '$(TRACKER)')

.PHONY: graph
graph: check-objects $(BUILD)/sim/way
	@/usr/bin/python3 tools/graph/draw.py

.PHONY: size
size: all
	@/usr/bin/python3 tools/graph/size.py $(if $(UPDATE),--update)

.PHONY: generate
generate: deps-test
	@tools/build/generate.py

.PHONY: doc-headers
doc-headers: deps-test
	@/usr/bin/python3 tools/docs/check_headers.py --page

.PHONY: man
man: all
	@/usr/bin/python3 tools/docs/man.py --binary $(BUILD)/$(NAME) --output $(BUILD)/$(NAME).1

.PHONY: docs
docs:
	@/usr/bin/python3 tools/docs/docs.py

DEPENDENCIES += $(CHECK_OBJECTS:.o=.d)
