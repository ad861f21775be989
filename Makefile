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
COMMA := ,
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
BARE_GOALS := help clean deps deps-mirrors docs cluster-down demo-debian fuzz-targets
ifneq ($(filter-out $(BARE_GOALS),$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/deps/paths.mk
endif

# The goals that build the unit tests with clang need its flags when the Makefile is read.
CLANG_GOALS := sanitize coverage
FUZZ_GOALS := fuzz fuzz-coverage fuzz-defects build/fuzz/%
# Runs at every start; the file is written only when a path changed.
$(BUILD)/deps/paths.mk: FORCE
	@tools/deps.sh $(if $(filter $(CLANG_GOALS) $(FUZZ_GOALS),$(MAKECMDGOALS)),test,build)

SOURCES := $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c boards/*.c generated/*.c))
# The program around the code that tests link.
MAIN := src/main.c src/start.c
LIBRARY_SOURCES := $(filter-out $(MAIN),$(SOURCES))
TEST_SOURCES := $(sort $(wildcard tests/unit/test_*.c))
SIM_MODELS := $(sort $(wildcard tests/sim/*.c))
NANOPB_NAMES := pb_common pb_encode pb_decode

# --- how to build -------------------------------------------------------------------------------------

# The compiler that an outside fuzzing service names; only fuzz-targets reads it.
FUZZ_CC := $(if $(filter environment command,$(firstword $(origin CC))),$(CC),clang-19)
CC := gcc
AR := gcc-ar
OBJCOPY := objcopy
CLANG := clang-19
ARCH := $(shell uname -m)
MUSL := /usr/lib/$(ARCH)-linux-musl
MUSL_CC := musl-gcc

INCLUDES = -Isrc -I. -isystem $(NANOPB_DIR) -isystem $(MBEDTLS_DIR)/include
DEFINES := -D_GNU_SOURCE -DPB_VALIDATE_UTF8 -DPB_NO_ERRMSG \
	'-DMBEDTLS_CONFIG_FILE="cfg/mbedtls/mbedtls_config.h"'
WARNINGS := -Wall -Wextra -Wshadow -Wconversion
LANGUAGE := -std=gnu11

# -ffile-prefix-map: the same binary from any folder. The cache becomes an absolute path: the linker's optimiser rewrites a
# relative one for its own folder, and a library of the cache may come from another.
PREFIX_MAP = -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(CACHE)=/cache
HARDEN := -fPIE -fstack-protector-strong -ftrivial-auto-var-init=zero -fno-strict-aliasing \
	-fno-strict-overflow -fno-delete-null-pointer-checks
# Nothing unwinds the stack at run time; debuggers read .debug_frame.
HARDEN += -fno-asynchronous-unwind-tables -fno-unwind-tables
# AES-NI by intrinsics: mbedTLS asks the processor before it uses them.
ifeq ($(ARCH),x86_64)
MBEDTLS_ARCH_FLAGS := -maes -mpclmul
# musl keeps the guard of the stack both in the thread and in a variable, whose address is shorter in code: 2 KB. Other
# processors have the variable alone.
HARDEN += -mstack-protector-guard=global
# Tables begin where the ABI asks for it, not at lines of the cache: 2 KB of padding.
ALIGN_DATA := -malign-data=abi
endif
# Parameters in pieces, registers saved around calls, jumps threaded through tests, tables of jumps, moves in the place of
# jumps, and what is computed early or by ranges of values take more than they save: 6 KB.
SIZE := -Oz -flto -ffunction-sections -fdata-sections $(ALIGN_DATA) -fno-ipa-sra -fno-caller-saves \
	-fno-tree-dominator-opts -fno-jump-tables -fno-if-conversion -fno-tree-pre -fno-tree-vrp -g
PRODUCT_FLAGS = $(LANGUAGE) $(SIZE) $(HARDEN) $(PREFIX_MAP)
LINK_HARDEN := -Wl,-pie,--no-dynamic-linker,-z,text,-z,relro,-z,now,-z,noexecstack,-z,separate-code \
	-Wl,--gc-sections,--build-id=sha1,--fatal-warnings,-T,cfg/sections.ld
# x86-64: the list of the addresses in tables is packed, which src/start.c reads and musl 1.2.3 cannot: 24 KB.
# The linker of Debian 12 does not pack those of arm64.
ifeq ($(ARCH),x86_64)
LINK_START := -Wl,-z,pack-relative-relocs
else
LINK_START := $(MUSL)/rcrt1.o
endif
SANITIZE_ALL := $(LANGUAGE) -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all
SANITIZE := $(SANITIZE_ALL) -fsanitize=address,undefined

# With the libraries that are not the pinned release: +mbedtls-3.6.6.
BUILD_ID := $(shell git describe --always --dirty --tags 2>/dev/null || echo unknown)$(UNPINNED)

# Key of a library built with the given compiler and flags: changes with source, configuration and both.
library_key = $(shell { cat $(MBEDTLS_DIR)/.sha256 $(wildcard cfg/mbedtls/*.h tests/memory/*.h) tools/build_mbedtls.sh; \
	echo '$(2)'; $(1) -v 2>&1; } | sha256sum | cut -c 1-16)

# --- the agent ----------------------------------------------------------------------------------------

.PHONY: all
all: $(BUILD)/$(NAME) ## build/neuron-dra-agent and build/neuron-dra-agent.debug

PRODUCT := $(BUILD)/obj/product
PRODUCT_OBJECTS := $(SOURCES:%.c=$(PRODUCT)/%.o) $(NANOPB_NAMES:%=$(PRODUCT)/nanopb/%.o)
# mbedTLS initialises its locals before it reads them, as `make sanitize` shows under MSan; clearing them costs 3 KB.
MBEDTLS_PRODUCT_FLAGS = $(filter-out -ftrivial-auto-var-init=zero,$(PRODUCT_FLAGS)) $(MBEDTLS_ARCH_FLAGS)
# The prefix map is left out of the key: it names this folder and changes nothing in the result but /cache.
ifdef MBEDTLS_DIR
MBEDTLS_PRODUCT := $(CACHE)/lib/mbedtls-$(call library_key,$(CC),musl /cache $(filter-out $(PREFIX_MAP),$(MBEDTLS_PRODUCT_FLAGS))).a

# Precious, like the other archives of the cache: another build may have made it, and may be linking with it, when this
# one fails or is interrupted.
.PRECIOUS: $(MBEDTLS_PRODUCT)
$(MBEDTLS_PRODUCT):
	@tools/build_mbedtls.sh $@ $(MBEDTLS_DIR) $(JOBS) $(MUSL_CC) $(MBEDTLS_PRODUCT_FLAGS)
endif

$(BUILD)/$(NAME): $(BUILD)/$(NAME).debug
	$(Q)$(OBJCOPY) --strip-all $< $@
	@printf '%s: %s bytes\n' $@ "$$(stat -c %s $@)"

# Static and position-independent: musl's own driver cannot, so the start files are named here. The optimiser's
# record of frames and calls, $(PRODUCT)/lto/*.ci, is read by tools/check_stack.py; it changes no code. With one
# partition the optimiser sees the whole program, which saves 2 KB.
$(BUILD)/$(NAME).debug: $(PRODUCT_OBJECTS) $(MBEDTLS_PRODUCT) $(PRODUCT)/flags cfg/sections.ld
	$(call show,LINK,$@)
	@rm -rf $(PRODUCT)/lto && mkdir -p $(PRODUCT)/lto
	$(Q)$(MUSL_CC) $(PRODUCT_FLAGS) -flto-partition=one -fcallgraph-info=su,da -dumpdir $(PRODUCT)/lto/ \
		-static -nostartfiles $(LINK_HARDEN) -o $@ \
		$(LINK_START) $(MUSL)/crti.o $(PRODUCT_OBJECTS) $(MBEDTLS_PRODUCT) $(MUSL)/crtn.o

# The code that every octet of a peer passes is compiled for speed; `make bench` shows HPACK and frames. The
# stages of h2.c run for every frame, which short DATA shows.
HOT := src/base/bytes.c src/wire/h2.c src/wire/hpack.c
SPEED := -O2 -fipa-sra -fcaller-saves -fif-conversion -ftree-pre -ftree-vrp
$(HOT:%.c=$(PRODUCT)/%.o): FOR_SPEED := $(SPEED)
$(PRODUCT)/src/start.o: EXTRA := -fno-lto -fno-stack-protector

$(PRODUCT)/%.o: %.c $(PRODUCT)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(PRODUCT_FLAGS) $(FOR_SPEED) $(WARNINGS) $(DEFINES) $(INCLUDES) $(EXTRA) -MMD -MP -c $< -o $@

# A folder of nanopb is one release for good, and its name is among the flags. Lists of its headers would only fail a
# build whose cache has moved.
$(PRODUCT)/nanopb/%.o: $(NANOPB_DIR)/%.c $(PRODUCT)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(PRODUCT_FLAGS) $(DEFINES) $(INCLUDES) -c $< -o $@

# Only what names BUILD_ID is compiled again when the commit changes.
BUILD_ID_OBJECTS := $(patsubst %.c,$(PRODUCT)/%.o,$(shell grep -lw BUILD_ID $(SOURCES) /dev/null))
$(BUILD_ID_OBJECTS): EXTRA = '-DBUILD_ID="$(BUILD_ID)"'
$(BUILD_ID_OBJECTS): $(BUILD)/obj/build-id

# --- flags are kept in files: a change of flags or compiler compiles again ------------------------------

# $(1) file, $(2) content
remember = @mkdir -p $(dir $(1)); printf '%s\n' '$(subst ','"'"',$(2))' >$(1).new; \
	if cmp -s $(1).new $(1); then rm $(1).new; else mv $(1).new $(1); fi

COMPILER := $(shell $(CC) --version 2>/dev/null | head -n 1)
$(PRODUCT)/flags: FORCE
	$(call remember,$@,$(COMPILER) $(PRODUCT_FLAGS) $(HOT) $(WARNINGS) $(DEFINES) $(LINK_HARDEN) $(LINK_START) \
		$(INCLUDES) $(notdir $(MBEDTLS_PRODUCT)))
$(BUILD)/obj/build-id: FORCE
	$(call remember,$@,$(BUILD_ID))

# --- unit tests ---------------------------------------------------------------------------------------

# All unit tests in one of their builds: objects in build/obj/NAME, programs in build/NAME.
# $(1) name, $(2) compiler, $(3) its flags for all code, $(4) those for our code only, $(5) those of mbedTLS,
# $(6) what is linked besides: -lcmocka, or the object built from its source
define unit_build
$(1)_OBJ := $$(BUILD)/obj/$(1)
$(1)_TESTS := $$(TEST_SOURCES:tests/unit/%.c=$$(BUILD)/$(1)/%)
$(1)_OBJECTS := $$(patsubst %.c,$$($(1)_OBJ)/%.o,$$(LIBRARY_SOURCES) $$(SIM_MODELS)) $$(NANOPB_NAMES:%=$$($(1)_OBJ)/nanopb/%.o)
DEPENDENCIES += $$($(1)_OBJECTS:.o=.d) $$(TEST_SOURCES:%.c=$$($(1)_OBJ)/%.d)
$(1)_MBEDTLS := $$(CACHE)/lib/mbedtls-$$(call library_key,$(2),glibc $(5)).a

ifeq ($$(filter $$($(1)_MBEDTLS),$$(UNIT_MBEDTLS)),)
UNIT_MBEDTLS += $$($(1)_MBEDTLS)
.PRECIOUS: $$($(1)_MBEDTLS)
$$($(1)_MBEDTLS):
	@tools/build_mbedtls.sh $$@ $$(MBEDTLS_DIR) $$(JOBS) $(2) $(5) $$(PREFIX_MAP)
endif

$$(BUILD)/$(1)/test_%: $$($(1)_OBJ)/tests/unit/test_%.o $$($(1)_OBJ)/libagent.a $$($(1)_MBEDTLS) $$(filter %.o,$(6))
	$$(call show,LINK,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(2) $(3) $(4) -o $$@ $$^ $$(filter-out %.o,$(6))

$$($(1)_OBJ)/libagent.a: $$($(1)_OBJECTS)
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^

$$($(1)_OBJ)/flags: FORCE
	$$(call remember,$$@,$$(shell $(2) --version | head -n 1) $(3) $(4) $(6) $$(WARNINGS) $$(DEFINES) $$(INCLUDES))

$$($(1)_OBJ)/%.o: %.c $$($(1)_OBJ)/flags | deps-test
	$$(call show,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(2) $(3) $(4) $$(WARNINGS) $$(DEFINES) '-DBUILD_ID="unit"' $$(INCLUDES) -MMD -MP -c $$< -o $$@

$$($(1)_OBJ)/nanopb/%.o: $$(NANOPB_DIR)/%.c $$($(1)_OBJ)/flags
	$$(call show,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(2) $(3) $$(DEFINES) $$(INCLUDES) -c $$< -o $$@
endef

PLAIN_MBEDTLS := $(LANGUAGE) -O1 -g $(MBEDTLS_ARCH_FLAGS)
ifdef MBEDTLS_DIR
$(eval $(call unit_build,unit,$(CC),$(SANITIZE),,$(PLAIN_MBEDTLS),-lcmocka))
endif

.PHONY: unit
unit: $(unit_TESTS) ## unit tests under the address and undefined-behaviour sanitizers
	@tools/run_unit.py --jobs $(JOBS) $(unit_TESTS)

# With clang: implicit conversions that change a value; reads of uninitialised memory, for which everything has to
# be built with MSan: cmocka, nanopb, and mbedTLS without its assembly.
VALUES_FLAGS := $(SANITIZE)
VALUES_OWN := -fsanitize=implicit-conversion,nullability,local-bounds
MEMORY_FLAGS := $(SANITIZE_ALL) -fsanitize=memory -fsanitize-memory-track-origins=1 \
	'-DMBEDTLS_USER_CONFIG_FILE="tests/memory/mbedtls.h"'
MEMORY_CMOCKA := $(BUILD)/obj/memory/cmocka.o
MEMORY_LINK := $(MEMORY_CMOCKA) $(BUILD)/obj/memory/tests/memory/syscall.o -Wl,--wrap=syscall
CMOCKA_DEFINES := -DHAVE_INTTYPES_H -DHAVE_MALLOC_H -DHAVE_SIGNAL_H -DHAVE_STRINGS_H -DHAVE_SIGLONGJMP \
	-DHAVE_STRSIGNAL -DHAVE_STRUCT_TIMESPEC -DHAVE_CLOCK_REALTIME -DHAVE_GCC_THREAD_LOCAL_STORAGE

# Lines, branches and MC/DC (clang 19). A condition of ASSERT is no branch that a test could take:
# tests/coverage holds an assert.h without it. Nanopb and mbedTLS are others' code.
COVERAGE_FLAGS := $(LANGUAGE) -O0 -g
COVERAGE_OWN := -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc -Itests/coverage

ifneq ($(filter $(CLANG_GOALS),$(MAKECMDGOALS)),)
$(eval $(call unit_build,values,$(CLANG),$(VALUES_FLAGS),$(VALUES_OWN),$(PLAIN_MBEDTLS),-lcmocka))
$(eval $(call unit_build,memory,$(CLANG),$(MEMORY_FLAGS),-isystem $(CMOCKA_DIR)/include,$(MEMORY_FLAGS),$(MEMORY_LINK)))
$(eval $(call unit_build,coverage,$(CLANG),$(COVERAGE_FLAGS),$(COVERAGE_OWN),$(PLAIN_MBEDTLS),-lcmocka))

$(MEMORY_CMOCKA): $(CMOCKA_DIR)/src/cmocka.c $(BUILD)/obj/memory/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(MEMORY_FLAGS) -w $(CMOCKA_DEFINES) -I$(CMOCKA_DIR)/include -c $< -o $@
endif

.PHONY: sanitize
sanitize: $(values_TESTS) $(memory_TESTS) ## unit tests under clang's sanitizers: implicit conversions, uninitialised memory
	@tools/run_unit.py --name values --jobs $(JOBS) $(values_TESTS)
	@tools/run_unit.py --name memory --jobs $(JOBS) $(memory_TESTS)

.PHONY: coverage
coverage: $(coverage_TESTS) ## lines, branches, MC/DC of the unit tests: a table, build/coverage/report, at least 95 % lines
	@tools/coverage.py --jobs $(JOBS) $(coverage_TESTS)

# --- objects for the gates ----------------------------------------------------------------------------

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

# What the linters and analysers (tools/lint.py) hand to their compilers.
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
	$(Q)$(MUSL_CC) $(CALLS_FLAGS) -fcallgraph-info=su,da -c $< -o $@

$(CALLS)/%.o: %.c $(CHECK)/flags
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(CALLS_FLAGS) -fcallgraph-info=su,da -MMD -MP -c $< -o $@

# --- the demo: stand-ins for kubelet and API server, on what is shared of src --------------------------------

SIM := $(BUILD)/obj/sim
SIM_SHARED := $(sort $(wildcard src/base/*.c src/wire/h2*.c src/wire/hpack.c generated/hpack*.c)) \
	src/wire/kube.c src/wire/kube_filter.c generated/registration.pb.c generated/dra.pb.c
SIM_OBJECTS := $(SIM_MODELS:%.c=$(SIM)/%.o) $(SIM_SHARED:%.c=$(SIM)/%.o) $(NANOPB_NAMES:%=$(SIM)/nanopb/%.o)
SIM_PROGRAMS := $(BUILD)/sim/sim-kubelet $(BUILD)/sim/sim-apiserver
SIM_FLAGS := $(LANGUAGE) -O3 -g -flto=auto

.PHONY: demo
demo: all $(SIM_PROGRAMS) deps-demo ## the agent on a simulated node, with a stand-in kubelet and API server: seconds, no cluster
	@/usr/bin/python3 tools/demo/demo.py --build $(BUILD)

# Not a part of `make test`: it installs two systems.
.PHONY: demo-debian
demo-debian: ## make demo on a fresh Debian 12 and 13, from HEAD (as root, with debootstrap)
	@tests/demo/debootstrap.sh

$(SIM)/flags: FORCE
	$(call remember,$@,$(COMPILER) $(SIM_FLAGS) $(WARNINGS) $(DEFINES) $(INCLUDES))

$(BUILD)/sim/sim-%: $(SIM)/tests/sim/host/%.o $(SIM)/tests/sim/host/host.o $(SIM_OBJECTS)
	$(call show,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SIM_FLAGS) -o $@ $^ -lssl -lcrypto

$(SIM)/nanopb/%.o: $(NANOPB_DIR)/%.c $(SIM)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SIM_FLAGS) $(DEFINES) $(INCLUDES) -c $< -o $@

$(SIM)/%.o: %.c $(SIM)/flags | deps-demo
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SIM_FLAGS) $(WARNINGS) $(DEFINES) '-DBUILD_ID="sim"' $(INCLUDES) -MMD -MP -c $< -o $@

# --- the simulator: the whole agent and both models in one process, on a virtual clock ----------------------------

VIRTUAL_SOURCES := $(sort $(wildcard tests/sim/virtual/*.c)) $(SIM_MODELS) \
	$(filter-out $(MAIN) src/host/%,$(SOURCES))
VIRTUAL_OBJECTS := $(VIRTUAL_SOURCES:%.c=$(SIM)/%.o) $(NANOPB_NAMES:%=$(SIM)/nanopb/%.o)

.PHONY: sim
sim: $(BUILD)/sim/sim ## days of a node in seconds: scenarios and random faults on a virtual clock (SEED=n, CLAIMS=n, ALIGNED=n, SCENARIO=text)
	@$(BUILD)/sim/sim --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(if $(CLAIMS),--claims $(CLAIMS)) $(if $(ALIGNED),--aligned $(ALIGNED)) $(if $(SCENARIO),--scenario '$(SCENARIO)')

$(BUILD)/sim/sim: $(VIRTUAL_OBJECTS)
	$(call show,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SIM_FLAGS) -o $@ $^

# The same, with calls of the agent recorded: tools/way.py.
WAY := $(BUILD)/obj/way
WAY_AGENT := $(filter-out $(MAIN) src/host/%,$(SOURCES))
WAY_OBJECTS := $(patsubst %.c,$(WAY)/%.o,$(WAY_AGENT) $(SIM_MODELS) tests/sim/way/way.c \
	$(filter-out tests/sim/virtual/main.c,$(wildcard tests/sim/virtual/*.c))) $(NANOPB_NAMES:%=$(SIM)/nanopb/%.o)
WAY_FLAGS := $(LANGUAGE) -O0 -g -no-pie -fno-pie
$(WAY_AGENT:%.c=$(WAY)/%.o): RECORDED := -finstrument-functions

$(BUILD)/sim/way: $(WAY_OBJECTS)
	$(call show,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(WAY_FLAGS) -o $@ $^

$(WAY)/flags: FORCE
	$(call remember,$@,$(COMPILER) $(WAY_FLAGS) $(DEFINES) $(INCLUDES))

$(WAY)/%.o: %.c $(WAY)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(WAY_FLAGS) $(RECORDED) $(WARNINGS) $(DEFINES) '-DBUILD_ID="way"' $(INCLUDES) -MMD -MP -c $< -o $@

# --- the claim store after every crash: the agent with a store of four slots -------------------------------------

CRASH := $(BUILD)/obj/crash
CRASH_OBJECTS := $(patsubst %.c,$(CRASH)/%.o,$(WAY_AGENT) tests/crash/crash.c) $(NANOPB_NAMES:%=$(SIM)/nanopb/%.o)
CRASH_FLAGS := $(LANGUAGE) -O2 -g
# Steps of a script; one more is ten times as many states.
CRASH_STEPS ?= 2

.PHONY: crash
crash: $(BUILD)/sim/crash ## the claim store in every state that a crash can leave: over a million, opened again (CRASH_STEPS=n)
	@$(BUILD)/sim/crash $(CRASH_STEPS)

$(BUILD)/sim/crash: $(CRASH_OBJECTS)
	$(call show,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CRASH_FLAGS) -o $@ $^

$(CRASH)/flags: FORCE
	$(call remember,$@,$(COMPILER) $(CRASH_FLAGS) $(DEFINES) $(INCLUDES))

$(CRASH)/%.o: %.c $(CRASH)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CRASH_FLAGS) $(WARNINGS) $(DEFINES) '-DBUILD_ID="crash"' -Itests/crash $(INCLUDES) -MMD -MP -c $< -o $@

# --- mistakes in the claim state, which simulator, crash states and unit tests have to find ------------------------

defect_compile = '$(CC) $(1) $(subst ','"'"',$(DEFINES)) $(INCLUDES)'

# The programs that have to find them, and no other unit test.
DEFECT_TARGETS := $(addprefix $(BUILD)/,$(subst unit/,unit/test_,$(patsubst sim,sim/sim,$(patsubst crash,sim/crash,$(subst aligned,sim,$(sort \
	$(shell sed -n 's/^target = "\(.*\)"$$/\1/p' tests/defects/claims.toml)))))))

.PHONY: claim-defects
claim-defects: $(DEFECT_TARGETS) ## mistakes put into the claim state, one at a time; simulator, crash states or unit tests must find each
	@UNIT_COMPILE=$(call defect_compile,$(SANITIZE)) UNIT_LINK='$(BUILD)/obj/unit/libagent.a $(unit_MBEDTLS) -lcmocka' \
		SIM_COMPILE=$(call defect_compile,$(SIM_FLAGS)) SIM_LINK='$(VIRTUAL_OBJECTS)' \
		CRASH_COMPILE=$(call defect_compile,$(CRASH_FLAGS) -Itests/crash) CRASH_LINK='$(CRASH_OBJECTS)' \
		/usr/bin/python3 tools/defects.py $(if $(ONLY),--only $(ONLY)) claims

# --- fuzzers ------------------------------------------------------------------------------------------

# Every target is one file with LLVMFuzzerTestOneInput, linked with the layers that make no system calls, the files
# of src/host that read texts, certificates and sysfs, and the models of the agent's peers. Builds: address (with
# UBSan) and memory, fast without sanitizers for long runs, reach for coverage with tests/fuzz/replay.c as its engine.
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_SOURCES := $(filter-out $(MAIN) src/host/%,$(SOURCES)) $(wildcard src/host/x509*.c) $(SIM_MODELS) \
	$(addprefix src/host/,der.c kubeconfig.c pem.c probe.c reading.c resolver.c system.c telemetry.c \
	yaml.c)
FUZZ_FLAGS := $(LANGUAGE) -O1 -g -fno-omit-frame-pointer
# The engine traces the agent's comparisons; tracing those of the targets only costs time.
FUZZ_OWN := -fno-sanitize-coverage=trace-cmp
FUZZ_SECONDS ?= 15
# The same inputs each time, so that a failure comes from the change and not from chance; 0: other inputs each time.
FUZZ_SEED ?= 1

# $(1) name, $(2) flags of all code, $(3) engine: flag or object, $(4) flags of our code only, $(5) not empty: with
# the libraries that targets compare with
define fuzz_build
fuzz_$(1)_OBJ := $$(BUILD)/obj/fuzz/$(1)
fuzz_$(1)_OBJECTS := $$(FUZZ_SOURCES:%.c=$$(fuzz_$(1)_OBJ)/%.o) $$(NANOPB_NAMES:%=$$(fuzz_$(1)_OBJ)/nanopb/%.o)
fuzz_$(1)_TARGETS := $$(FUZZ_TARGETS:%=$$(BUILD)/fuzz/$(1)/%)
DEPENDENCIES += $$(fuzz_$(1)_OBJECTS:.o=.d) $$(FUZZ_TARGETS:%=$$(fuzz_$(1)_OBJ)/tests/fuzz/fuzz_%.d)

$$(BUILD)/fuzz/$(1)/%: $$(fuzz_$(1)_OBJ)/tests/fuzz/fuzz_%.o $$(fuzz_$(1)_OBJ)/libagent.a $(filter %.o,$(3))
	$$(call show,LINK,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CLANG) $(2) $(3) -o $$@ $$(filter-out $(filter %.o,$(3)),$$^) \
		$(if $(5),$$$$(sed -n 's/^ [*] Links: //p' tests/fuzz/fuzz_$$*.c))

$$(fuzz_$(1)_OBJ)/libagent.a: $$(fuzz_$(1)_OBJECTS)
	@rm -f $$@
	$$(Q)ar rcs $$@ $$^

$$(fuzz_$(1)_OBJ)/flags: FORCE
	$$(call remember,$$@,$$(shell $$(CLANG) --version | head -n 1) $(2) $(4) $$(WARNINGS) $$(DEFINES) $$(INCLUDES) $$(FUZZ_SOURCES))

$$(fuzz_$(1)_OBJ)/%.o: %.c $$(fuzz_$(1)_OBJ)/flags
	$$(call show,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CLANG) $(2) $(4) $$(if $$(filter tests/%,$$<),$$(FUZZ_OWN)) $$(WARNINGS) $$(DEFINES) \
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
fuzz: $(fuzz_address_TARGETS) $(fuzz_memory_TARGETS) ## every fuzz target for FUZZ_SECONDS (15) on its corpus
	@/usr/bin/python3 tools/fuzz.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) $(FUZZ_TARGETS)

.PHONY: fuzz-defects
fuzz-defects: $(fuzz_address_TARGETS) ## mistakes put into parsers and agent, one at a time; the fuzz targets must find each
	@FUZZ_COMPILE='$(CLANG) $(FUZZ_ADDRESS) $(subst ','"'"',$(DEFINES)) $(INCLUDES)' \
		/usr/bin/python3 tools/defects.py agent data wire

.PHONY: fuzz-coverage
fuzz-coverage: $(fuzz_reach_TARGETS) ## lines of src/wire that the corpora alone reach: at least 95 %
	@/usr/bin/python3 tools/fuzz_coverage.py $(FUZZ_TARGETS)

# For an outside fuzzing service, which sets CC, CFLAGS and LIB_FUZZING_ENGINE. Installs nothing.
.PHONY: fuzz-targets
fuzz-targets: ## every target, its corpus and its options into OUT=folder (CC, CFLAGS, LIB_FUZZING_ENGINE)
	@CC='$(FUZZ_CC)' tools/fuzz_targets.sh '$(OUT)'

# --- the other parts ----------------------------------------------------------------------------------

export AGENT := $(CURDIR)/$(BUILD)/$(NAME)
# Read when a recipe runs: deps-all may have written it just before.
with_go = PATH="$$(dirname "$$(sed -n 's/^GO := //p' $(BUILD)/deps/paths.mk)"):$$PATH"
# Runs a command, and repeats at the end what failed.
failures := /usr/bin/python3 $(CURDIR)/tools/failures.py
# Tests with deadlines run beside each other on few cores. Up to four that fail run once more, alone; build/test/PART.reruns
# names them, and so does the summary of `make test`. What fails alone too, or with more than four others, has failed.
rerun = go tool -modfile=$(CURDIR)/tools/gotestsum/go.mod gotestsum --format=standard-quiet \
	--rerun-fails=1 --rerun-fails-max-failures=4 --rerun-fails-run-root-test --rerun-fails-report=$(CURDIR)/$(BUILD)/test/$@.reruns

# Peers made by others, each at a pinned release, and what is needed to connect them to the agent.
INTEROP := $(BUILD)/interop
INTEROP_FLAGS = $(SANITIZE) $(WARNINGS) $(DEFINES) $(INCLUDES)
.PHONY: interop-programs
interop-programs: $(INTEROP)/engine $(INTEROP)/handshake $(INTEROP)/verdicts $(INTEROP)/terminator $(INTEROP)/grpcjs/installed metadata-programs deps-all
	@$(with_go) && cd tests/interop/grpcgo && go build -o $(CURDIR)/$(INTEROP)/grpcgo . && \
		go build -modfile=../grpcgo2023/go.mod -o $(CURDIR)/$(INTEROP)/grpcgo2023 .

# Readers of device metadata files, by two releases of Kubernetes' library.
.PHONY: metadata-programs
metadata-programs: deps-all
	@$(with_go) && cd tests/interop/metadata && go build -o $(CURDIR)/$(INTEROP)/metadata . && \
		go build -modfile=../metadata136/go.mod -o $(CURDIR)/$(INTEROP)/metadata136 .

$(INTEROP)/flags: FORCE
	$(call remember,$@,$(COMPILER) $(INTEROP_FLAGS))

ENGINE_SOURCES := tests/interop/engine.c $(wildcard src/wire/grpc*.c src/wire/h2*.c src/wire/hpack.c) \
	src/base/bytes.c src/base/text.c generated/hpack_huffman.c generated/hpack_static.c
$(INTEROP)/engine: $(ENGINE_SOURCES) $(wildcard src/wire/*.h src/base/*.h cfg/*.h) $(INTEROP)/flags
	$(call show,LINK,$@)
	$(Q)$(CC) $(INTEROP_FLAGS) -o $@ $(ENGINE_SOURCES)

HANDSHAKE_SOURCES := tests/interop/handshake.c $(addprefix src/host/,der.c panic.c pem.c system.c) $(wildcard src/host/tls*.c src/host/x509*.c) \
	src/base/bytes.c src/base/text.c src/base/status.c src/base/time.c
$(INTEROP)/handshake: $(HANDSHAKE_SOURCES) $(wildcard src/host/*.h src/base/*.h cfg/*.h) $(unit_MBEDTLS) $(INTEROP)/flags
	$(call show,LINK,$@)
	$(Q)$(CC) $(INTEROP_FLAGS) -o $@ $(HANDSHAKE_SOURCES) $(unit_MBEDTLS)

# For speed, and the sanitizers have the same code in handshake.
VERDICTS_SOURCES := $(patsubst %/handshake.c,%/verdicts.c,$(HANDSHAKE_SOURCES))
$(INTEROP)/verdicts: $(VERDICTS_SOURCES) $(wildcard src/host/*.h src/base/*.h cfg/*.h) $(unit_MBEDTLS) $(INTEROP)/flags
	$(call show,LINK,$@)
	$(Q)$(CC) $(LANGUAGE) -O2 -g -Wl,--wrap=x509_lists_host $(WARNINGS) $(DEFINES) $(INCLUDES) -o $@ \
		$(VERDICTS_SOURCES) $(unit_MBEDTLS)

$(INTEROP)/terminator: tests/interop/terminator.c $(INTEROP)/flags | deps-all
	$(call show,LINK,$@)
	$(Q)$(CC) $(LANGUAGE) -O1 -g $(WARNINGS) $(DEFINES) -o $@ $< -lssl -lcrypto

# The lock file names packages by checksum and no registry: npm's own configuration does.
$(INTEROP)/grpcjs/installed: $(wildcard tests/interop/grpcjs/package*.json) | deps-all
	$(call show,NPM,$@)
	@mkdir -p $(@D) && cp $^ $(@D)
	$(Q)cd $(@D) && npm ci --silent --ignore-scripts --no-audit --no-fund && touch installed

.PHONY: conformance
conformance: all older deps-all interop-programs ## both sides of every protocol, with peers made by others
	@mkdir -p $(BUILD)/test && $(with_go) && cd tests/conformance && $(failures) $(rerun) --packages '. ./verdict' -- \
		-count=1 -timeout 30m -skip '^TestAbuse'

# Not a part of `make test`: half an hour. Another seed each time: X509_SEED=n.
.PHONY: x509-million
x509-million: interop-programs ## a million random chains of certificates, judged beside Go's crypto/x509 (X509_SEED=n, X509_CHAINS=n)
	@$(with_go) && cd tests/conformance && X509_CHAINS=$(or $(X509_CHAINS),1000000) \
		X509_SEED=$(or $(X509_SEED),$$(date +%Y%m%d)) $(failures) go test -count=1 -timeout 180m -v -run '^TestRandomChains$$' ./verdict

.PHONY: faults
faults: all deps-all ## every system call of a prepare, an unprepare and a start with repair fails, each in four ways (ten minutes)
	@$(with_go) && cd tests/conformance && FAULT_POINTS=all $(failures) go test -count=1 -timeout 120m -parallel 20 \
		-run '^TestEverySystemCall'

.PHONY: abuse
abuse: all deps-all ## hostile peers on every socket and a hostile API server: error codes, memory, CPU, effect on other peers
	@mkdir -p $(BUILD)/test && $(with_go) && cd tests/conformance && $(failures) $(rerun) --packages . -- -count=1 -timeout 30m -run '^TestAbuse'

# The last release that hands no claim store over and knows no EFA driver; tests/e2e and a test of conformance go back to it,
# where the history has its commit.
OLDER_RELEASE := 3c8d00e4c681849771f75055092e079eb7bc7c7c
$(BUILD)/older/$(OLDER_RELEASE): | deps-all
	@rm -rf $(@D) && mkdir -p $(@D)
	$(Q)if git archive -o $(@D)/source.tar $(OLDER_RELEASE); then \
		cd $(@D) && tar -xf source.tar && rm source.tar && $(MAKE) --no-print-directory build/$(NAME); else \
		echo 'e2e: NOT TESTED: the downgrade; commit $(OLDER_RELEASE) is not here: git fetch --unshallow'; fi
	@touch $@

.PHONY: older
older: $(BUILD)/older/$(OLDER_RELEASE)

.PHONY: e2e
e2e: image older metadata-programs deps-all ## pods on a real scheduler, API server, kubelet and containerd (K8S=1.36.3)
	@$(with_go) $(failures) /usr/bin/python3 tools/cluster/e2e.py --k8s $(K8S)

# Not a part of `make test`: it builds four more releases of Kubernetes first.
.PHONY: e2e-matrix
e2e-matrix: image metadata-programs deps-all ## the cases that depend on versions, on every release, kubelet and API version kept working (ROWS=...; UPDATE=1)
	@$(with_go) /usr/bin/python3 tools/cluster/matrix.py $(if $(UPDATE),--update) $(ROWS)

# tests/unit/test_recorded.c replays it. Not a part of `make test`: it changes files of the repository.
.PHONY: record
record: all deps-all ## records what real kubelets and API servers send, into tests/vectors/recorded
	@$(with_go) /usr/bin/python3 tools/cluster/record.py

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

# Of what the image says, the commit alone changes from one build to the next.
IMAGE := $(BUILD)/image
REVISION := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
CREATED := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

.PHONY: image
image: all deps-all ## an OCI archive with the agent alone, and its SBOM (SPDX): build/image
	@$(with_go) && cd tools/image && go run . --root $(CURDIR) --out $(CURDIR)/$(IMAGE) --binary $(AGENT) --machine $(ARCH) \
		--build '$(BUILD_ID)' --revision $(REVISION) --created $(CREATED) \
		--musl "$$(dpkg-query -W -f '$${Version}' musl-dev)"

# Not a part of `make test`: a whole build more, and 230 MB of packages.
.PHONY: image-arm64
image-arm64: all deps-all ## the same for arm64, on another machine, by Debian's cross compiler: build/image/arm64
	@$(with_go) && tools/image/arm64.sh '$(BUILD_ID)' $(REVISION) $(CREATED)

.PHONY: image-test
image-test: image ## contents and size of the image, its SBOM, and the same bytes when it is built in another folder
	@$(with_go) && cd tools/image && $(failures) go test -count=1 .
	@tools/image/twice.sh '$(BUILD_ID)' $(REVISION) $(CREATED)

.PHONY: manifests
manifests: deps-all ## cfg/deploy/manifests from the chart, for those who do not use Helm
	@$(with_go) /usr/bin/python3 tools/manifests.py

.PHONY: chart-test
chart-test: all deps-all image ## the chart without a cluster: values, releases, rights, alert rules; cfg/deploy/manifests as it renders them
	@$(with_go) /usr/bin/python3 tools/manifests.py --check
	@$(with_go) && cd tests/chart && HELM="$$(/usr/bin/python3 $(CURDIR)/tools/cluster/build.py --helm)" \
		$(failures) go test -count=1 .

# The reference is static and stripped, as in an image. Go finds by itself what changed.
BENCH := $(BUILD)/bench
# The parsers with the product's own optimisation, beside nghttp2's.
BENCH_SPEED := tests/bench/wire/speed.c $(sort $(wildcard src/base/*.c src/wire/h2*.c src/wire/hpack.c \
	generated/hpack*.c))
$(BENCH)/speed: $(BENCH_SPEED:%.c=$(BENCH)/obj/%.o)
	$(call show,LINK,$@)
	$(Q)$(CC) $(LANGUAGE) $(SIZE) -O2 -o $@ $^ -lnghttp2
$(BENCH)/roundtrip: $(BENCH)/obj/tests/bench/wire/roundtrip.o
	$(call show,LINK,$@)
	$(Q)$(CC) -o $@ $^
$(BENCH)/obj/tests/bench/wire/speed.o $(HOT:%.c=$(BENCH)/obj/%.o): FOR_SPEED := $(SPEED)
$(BENCH)/obj/%.o: %.c $(PRODUCT)/flags | deps-all
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LANGUAGE) $(SIZE) $(FOR_SPEED) $(WARNINGS) $(DEFINES) $(INCLUDES) -MMD -MP -c $< -o $@

.PHONY: bench-programs
bench-programs: all deps-all $(BENCH)/speed $(BENCH)/roundtrip
	@mkdir -p $(BENCH)
	@$(with_go) && cd tests/bench && export CGO_ENABLED=0 && \
		go build -trimpath -ldflags '-s -w' -o $(CURDIR)/$(BENCH)/reference ./reference && \
		go build -trimpath -o $(CURDIR)/$(BENCH)/harness ./harness

BENCH_RUN = $(BENCH)/harness -agent $(AGENT) -reference $(BENCH)/reference -simnode tools/simnode.py -dir $(BENCH)

.PHONY: bench
bench: bench-programs ## the agent beside a Go plugin on the kubelet's own library: memory, latency, ratios; its system calls
	@$(BENCH_RUN) -out $(BENCH)/bench.json
	@$(with_go) && cd tests/conformance && go test -count=1 -run '^(TestSystemCalls.*|TestScrapeCost)$$'

# Its figures say nothing: that both sides publish the same slice, answer alike and are measured at all is what counts.
.PHONY: bench-smoke
bench-smoke: bench-programs ## whether make bench still measures, by a few claims
	@$(BENCH_RUN) -out $(BENCH)/smoke.json -claims 8 -limited 2 -starts 1 -patience 1s >$(BENCH)/smoke.txt
	@printf 'bench-smoke: %s rows\n' "$$(grep -c '^|' $(BENCH)/smoke.txt)"

.PHONY: check
check: deps-test ## the gates: warnings, analysers, MISRA rules, layers, heap, stack, size, form, generated files
	@/usr/bin/python3 tools/check.py

.PHONY: advisories
advisories: all ## security advisories of the linked libraries: verdicts that still hold, a list that is 30 days old at most
	@/usr/bin/python3 tools/check_advisories.py

.PHONY: deps-mirrors
deps-mirrors: deps-test ## sources when mirrors have moved on, expired, fail or lie; builds that share a cache: seconds, on loopback
	@/usr/bin/python3 tests/deps/run.py

.PHONY: test
test: all deps-all image ## everything CI needs: check, unit, sanitize, coverage, sim, crash, fuzz, deps-mirrors, image-test, chart-test, bench-smoke, demo, conformance, abuse, e2e
	@/usr/bin/python3 tools/run_tests.py --k8s $(K8S)

.PHONY: graph
graph: check-objects $(BUILD)/sim/way ## who includes and calls whom, circles, the way of one prepare: build/graph/graph.md
	@/usr/bin/python3 tools/graph.py

.PHONY: size
size: all ## bytes by layer and library beside the ledger tests/bench/size.json (UPDATE=1 writes it)
	@/usr/bin/python3 tools/size.py $(if $(UPDATE),--update)

.PHONY: generate
generate: deps-test ## generated/ from proto/ and tools/hpack_tables.json
	@tools/generate.py

.PHONY: docs
docs: ## from the tables in the code and the golden slices: src/agent/report/CATALOGUE.md, cfg/deploy/ATTRIBUTES.md, the Events in cfg/deploy/README.md
	@/usr/bin/python3 tools/docs.py

.PHONY: deps deps-demo deps-test deps-all
deps: deps-all ## installs what a bare Debian 12 or 13 lacks (every target that needs it does this)
deps-demo:
	@tools/deps.sh demo
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

-include $(wildcard $(WAY_OBJECTS:.o=.d) $(CRASH_OBJECTS:.o=.d) $(SIM_OBJECTS:.o=.d) $(VIRTUAL_OBJECTS:.o=.d) $(SIM)/tests/sim/host/*.d)
-include $(wildcard $(BENCH)/obj/*/*/*.d $(BENCH)/obj/*/*/*/*.d)
-include $(wildcard $(PRODUCT_OBJECTS:.o=.d) $(CHECK_OBJECTS:.o=.d) $(DEPENDENCIES))
