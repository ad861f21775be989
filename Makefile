# SPDX-License-Identifier: Apache-2.0
# Builds, tests and checks neuron-dra-agent. `make help` lists what to type.
#
# Everything made lies under build/; sources and builds of libraries lie in the cache, keyed by what went into
# them, so that a fresh clone does not build them again.

# --- what to build ------------------------------------------------------------------------------------

NAME := neuron-dra-agent
BUILD := build
BOARD ?= trn2.48xlarge
K8S ?= 1.36.3
JOBS ?= $(shell nproc)

SHELL := /bin/sh
# Commands are shown short; `make V=1` shows them whole.
Q := $(if $(V),,@)
show = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$(2)')
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules --no-builtin-variables
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(JOBS)
endif

# Goals that compile nothing work without the tools of the build.
BARE_GOALS := help clean deps cluster-down
ifneq ($(filter-out $(BARE_GOALS),$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/deps/paths.mk
endif

# Runs at every start; the file is only written when something moved.
$(BUILD)/deps/paths.mk: FORCE
	@tools/deps.sh build

SOURCES := $(sort $(wildcard src/*.c src/*/*.c boards/*.c generated/*.c))
LIBRARY_SOURCES := $(filter-out src/main.c,$(SOURCES))
TEST_SOURCES := $(sort $(wildcard tests/unit/test_*.c))
TESTS := $(TEST_SOURCES:tests/unit/%.c=$(BUILD)/unit/%)
NANOPB_NAMES := pb_common pb_encode pb_decode

# --- how to build -------------------------------------------------------------------------------------

CC := gcc
AR := gcc-ar
ARCH := $(shell uname -m)
MUSL := /usr/lib/$(ARCH)-linux-musl
MUSL_CC := musl-gcc

INCLUDES = -Isrc -I. -isystem $(NANOPB_DIR) -isystem $(MBEDTLS_DIR)/include
DEFINES := -D_GNU_SOURCE -DPB_VALIDATE_UTF8 -DPB_NO_ERRMSG \
	'-DMBEDTLS_CONFIG_FILE="cfg/mbedtls/mbedtls_config.h"'
WARNINGS := -Wall -Wextra -Wshadow -Wconversion
LANGUAGE := -std=gnu11

# -ffile-prefix-map: the same binary from any folder.
PREFIX_MAP = -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(CACHE)=cache
HARDEN := -fPIE -fstack-protector-strong -ftrivial-auto-var-init=zero -fno-strict-aliasing \
	-fno-strict-overflow -fno-delete-null-pointer-checks
# Nothing unwinds the stack at run time; debuggers read .debug_frame.
HARDEN += -fno-asynchronous-unwind-tables -fno-unwind-tables
# AES-NI by intrinsics: mbedTLS asks the processor before it uses them.
ifeq ($(ARCH),x86_64)
MBEDTLS_ARCH_FLAGS := -maes -mpclmul
endif
SIZE := -Os -flto -ffunction-sections -fdata-sections -g
PRODUCT_FLAGS = $(LANGUAGE) $(SIZE) $(HARDEN) $(PREFIX_MAP)
LINK_HARDEN := -Wl,-pie,--no-dynamic-linker,-z,text,-z,relro,-z,now,-z,noexecstack,-z,separate-code \
	-Wl,--gc-sections,--build-id=sha1,--fatal-warnings
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
UNIT_FLAGS := $(LANGUAGE) -O1 -g $(SANITIZE)

BUILD_ID := $(shell git describe --always --dirty --tags 2>/dev/null || echo unknown)

# Key of a library built with the given flags: changes with source, configuration, flags and compiler.
library_key = $(shell { cat $(2)/.sha256 $(wildcard cfg/mbedtls/*.h) tools/build_mbedtls.sh; \
	echo '$(1)'; $(CC) -v 2>&1; } | sha256sum | cut -c 1-16)

# --- the agent ----------------------------------------------------------------------------------------

.PHONY: all
all: $(BUILD)/$(NAME) ## build/neuron-dra-agent and build/neuron-dra-agent.debug

PRODUCT := $(BUILD)/obj/product
PRODUCT_OBJECTS := $(SOURCES:%.c=$(PRODUCT)/%.o) $(NANOPB_NAMES:%=$(PRODUCT)/nanopb/%.o)
MBEDTLS_PRODUCT_FLAGS = $(PRODUCT_FLAGS) $(MBEDTLS_ARCH_FLAGS)
# The prefix map is left out of the key: it names this folder and changes nothing in the result.
ifdef MBEDTLS_DIR
MBEDTLS_PRODUCT := $(CACHE)/lib/mbedtls-$(call library_key,musl $(filter-out $(PREFIX_MAP),$(MBEDTLS_PRODUCT_FLAGS)),$(MBEDTLS_DIR)).a

$(MBEDTLS_PRODUCT):
	@tools/build_mbedtls.sh $@ $(MBEDTLS_DIR) $(JOBS) $(MUSL_CC) $(MBEDTLS_PRODUCT_FLAGS)
endif

$(BUILD)/$(NAME): $(BUILD)/$(NAME).debug
	$(Q)objcopy --strip-all $< $@
	@printf '%s: %s bytes\n' $@ "$$(stat -c %s $@)"

# Static and position-independent: musl's own driver cannot, so the start files are named here.
$(BUILD)/$(NAME).debug: $(PRODUCT_OBJECTS) $(MBEDTLS_PRODUCT) $(PRODUCT)/flags
	$(call show,LINK,$@)
	$(Q)$(MUSL_CC) $(PRODUCT_FLAGS) -flto=$(JOBS) -static -nostartfiles $(LINK_HARDEN) -o $@ \
		$(MUSL)/rcrt1.o $(MUSL)/crti.o $(PRODUCT_OBJECTS) $(MBEDTLS_PRODUCT) $(MUSL)/crtn.o

$(PRODUCT)/%.o: %.c $(PRODUCT)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(PRODUCT_FLAGS) $(WARNINGS) $(DEFINES) $(INCLUDES) $(EXTRA) -MMD -MP -c $< -o $@

$(PRODUCT)/nanopb/%.o: $(NANOPB_DIR)/%.c $(PRODUCT)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(PRODUCT_FLAGS) $(DEFINES) $(INCLUDES) -MMD -MP -c $< -o $@

# Only what names BUILD_ID is compiled again when the commit changes.
BUILD_ID_OBJECTS := $(patsubst %.c,$(PRODUCT)/%.o,$(shell grep -lw BUILD_ID $(SOURCES) /dev/null))
$(BUILD_ID_OBJECTS): EXTRA = '-DBUILD_ID="$(BUILD_ID)"'
$(BUILD_ID_OBJECTS): $(BUILD)/obj/build-id

# --- flags, remembered: a change of flags or compiler compiles again -----------------------------------

# $(1) file, $(2) content
remember = @mkdir -p $(dir $(1)); printf '%s\n' '$(subst ','"'"',$(2))' >$(1).new; \
	if cmp -s $(1).new $(1); then rm $(1).new; else mv $(1).new $(1); fi

COMPILER := $(shell $(CC) --version 2>/dev/null | head -n 1)
$(PRODUCT)/flags: FORCE
	$(call remember,$@,$(COMPILER) $(PRODUCT_FLAGS) $(WARNINGS) $(DEFINES) $(LINK_HARDEN) $(INCLUDES))
$(BUILD)/obj/unit/flags: FORCE
	$(call remember,$@,$(COMPILER) $(UNIT_FLAGS) $(WARNINGS) $(DEFINES) $(INCLUDES))
$(BUILD)/obj/build-id: FORCE
	$(call remember,$@,$(BUILD_ID))

# --- unit tests ---------------------------------------------------------------------------------------

UNIT := $(BUILD)/obj/unit
UNIT_OBJECTS := $(LIBRARY_SOURCES:%.c=$(UNIT)/%.o) $(NANOPB_NAMES:%=$(UNIT)/nanopb/%.o)
MBEDTLS_UNIT_FLAGS = $(LANGUAGE) -O1 -g $(PREFIX_MAP) $(MBEDTLS_ARCH_FLAGS)
ifdef MBEDTLS_DIR
MBEDTLS_UNIT := $(CACHE)/lib/mbedtls-$(call library_key,glibc $(filter-out $(PREFIX_MAP),$(MBEDTLS_UNIT_FLAGS)),$(MBEDTLS_DIR)).a

$(MBEDTLS_UNIT):
	@tools/build_mbedtls.sh $@ $(MBEDTLS_DIR) $(JOBS) $(CC) $(MBEDTLS_UNIT_FLAGS)
endif

.PHONY: unit
unit: $(TESTS) ## unit tests under the address and undefined-behaviour sanitizers
	@tools/run_unit.py --jobs $(JOBS) $(TESTS)

$(BUILD)/unit/%: $(UNIT)/tests/unit/%.o $(UNIT)/libagent.a $(MBEDTLS_UNIT)
	$(call show,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_FLAGS) -o $@ $^ -lcmocka

$(UNIT)/libagent.a: $(UNIT_OBJECTS)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(UNIT)/%.o: %.c $(UNIT)/flags | deps-test
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_FLAGS) $(WARNINGS) $(DEFINES) '-DBUILD_ID="unit"' $(INCLUDES) -MMD -MP -c $< -o $@

$(UNIT)/nanopb/%.o: $(NANOPB_DIR)/%.c $(UNIT)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_FLAGS) $(DEFINES) $(INCLUDES) -MMD -MP -c $< -o $@

# --- objects for the gates ----------------------------------------------------------------------------

# Everything gcc 12 can say about hand-written C that is worth a rule. Generated code answers to its generator.
STRICT := -Wall -Wextra -Wpedantic -Werror -Wconversion -Wsign-conversion -Wshadow \
	-Wstrict-prototypes -Wmissing-prototypes -Wmissing-declarations -Wold-style-definition -Wredundant-decls \
	-Wnested-externs -Wcast-qual -Wcast-align=strict -Wbad-function-cast -Wpointer-arith -Wwrite-strings \
	-Wformat=2 -Wformat-signedness -Wundef -Wvla -Walloca -Wduplicated-cond -Wduplicated-branches -Wlogical-op \
	-Wnull-dereference -Wdouble-promotion -Wfloat-equal -Wjump-misses-init -Wtrampolines -Wdate-time \
	-Wimplicit-fallthrough=5 -Wunused-macros -Wstringop-overflow=4 -Warray-bounds=2 \
	-Wshift-overflow=2
# cmocka's tables cast away const, and a mock's prototype is the test's own affair.
STRICT_TESTS := $(STRICT) -Wno-cast-qual -Wno-missing-prototypes -Wno-missing-declarations
GENERATED_WARNINGS := -Wall -Wextra -Werror

CHECK := $(BUILD)/obj/check
CALLS := $(BUILD)/obj/calls
CHECK_FLAGS = $(LANGUAGE) -Os $(HARDEN) $(PREFIX_MAP) $(DEFINES) '-DBUILD_ID="check"' $(INCLUDES)
CALLS_FLAGS = $(LANGUAGE) -O0 $(DEFINES) '-DBUILD_ID="check"' $(INCLUDES)
CHECK_SOURCES := $(SOURCES) $(NANOPB_NAMES:%=nanopb/%.c)
CHECK_OBJECTS := $(CHECK_SOURCES:%.c=$(CHECK)/%.o) $(CHECK_SOURCES:%.c=$(CALLS)/%.o) \
	$(TEST_SOURCES:%.c=$(CHECK)/%.o) $(CHECK)/budget.o

.PHONY: check-objects
check-objects: $(CHECK_OBJECTS)

$(CHECK)/flags: FORCE
	$(call remember,$@,$(COMPILER) $(CHECK_FLAGS) $(STRICT_TESTS) $(CALLS_FLAGS))

$(CHECK)/generated/%.o: generated/%.c $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(CHECK_FLAGS) $(GENERATED_WARNINGS) -fcallgraph-info=su,da -MMD -MP -c $< -o $@

$(CHECK)/nanopb/%.o: $(NANOPB_DIR)/%.c $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(CHECK_FLAGS) -fcallgraph-info=su,da -MMD -MP -c $< -o $@

$(CHECK)/tests/%.o: tests/%.c $(CHECK)/flags | deps-test
	@mkdir -p $(@D)
	$(Q)$(CC) $(CHECK_FLAGS) $(STRICT_TESTS) -MMD -MP -c $< -o $@

$(CHECK)/%.o: %.c $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(CHECK_FLAGS) $(STRICT) -fcallgraph-info=su,da -MMD -MP -c $< -o $@

# The sums of cfg/budget.h are static assertions: compiling them is the check.
$(CHECK)/budget.o: cfg/budget.h $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)echo '#include "cfg/budget.h"' | $(MUSL_CC) $(CHECK_FLAGS) $(STRICT) -MMD -MP -MT $@ -x c -c - -o $@

$(CALLS)/nanopb/%.o: $(NANOPB_DIR)/%.c $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(CALLS_FLAGS) -fcallgraph-info=su,da -MMD -MP -c $< -o $@

$(CALLS)/%.o: %.c $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(CALLS_FLAGS) -fcallgraph-info=su,da -MMD -MP -c $< -o $@

# --- the other parts ----------------------------------------------------------------------------------

export AGENT := $(CURDIR)/$(BUILD)/$(NAME)
# Read when a recipe runs: deps-all may have written it just before.
with_go = PATH="$$(dirname "$$(sed -n 's/^GO := //p' $(BUILD)/deps/paths.mk)"):$$PATH"

.PHONY: conformance
conformance: all deps-all ## the kubelet's side of every protocol, by grpc-go, against the agent
	@$(with_go) && cd tests/conformance && go test -count=1 ./...

.PHONY: e2e
e2e: all deps-all ## pods on a real scheduler, API server, kubelet and containerd (K8S=1.36.3)
	@$(with_go) /usr/bin/python3 tools/cluster/e2e.py --k8s $(K8S)

# The programs of a node, built once and kept in the cache.
.PHONY: cluster-programs
cluster-programs: deps-all
	@$(with_go) /usr/bin/python3 tools/cluster/build.py --k8s $(K8S)

.PHONY: cluster
cluster: all deps-all ## a real one-node cluster left running (BOARD=trn2.48xlarge), build/cluster/kubeconfig
	@$(with_go) /usr/bin/python3 tools/cluster/cluster.py up --name cluster --board $(BOARD)

.PHONY: cluster-down
cluster-down: ## ends that cluster
	/usr/bin/python3 tools/cluster/cluster.py down --name cluster

.PHONY: check
check: deps-test ## the gates: warnings, layers, heap, size, style, generated files
	@/usr/bin/python3 tools/check.py

.PHONY: test
test: all deps-all ## everything CI needs: check, unit, conformance, e2e
	@/usr/bin/python3 tools/run_tests.py --k8s $(K8S)

.PHONY: generate
generate: deps-test ## generated/ from proto/ and tools/hpack_tables.json
	@tools/generate.py

.PHONY: deps deps-test deps-all
deps: deps-all ## what a bare Debian 12 or 13 lacks (every target that needs it does this)
deps-test:
	@tools/deps.sh test
deps-all:
	@tools/deps.sh all

.PHONY: clean
clean: ## removes build/
	@if grep -qs '$(CURDIR)/$(BUILD)/' /run/neuron-dra/*/cluster.json; then \
		echo 'clean: a cluster still runs below $(BUILD)/: make cluster-down first' >&2; exit 1; fi
	rm -rf --one-file-system $(BUILD)

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-20s %s\n", $$1, $$2}'

.PHONY: FORCE
FORCE:

-include $(wildcard $(PRODUCT_OBJECTS:.o=.d) $(UNIT_OBJECTS:.o=.d) $(TEST_SOURCES:%.c=$(UNIT)/%.d) \
	$(CHECK_OBJECTS:.o=.d))
