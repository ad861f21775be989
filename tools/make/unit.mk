# SPDX-License-Identifier: Apache-2.0
# Unit tests in their builds: plain, two of clang with sanitizers, coverage.

# All unit tests in one of their builds: objects in build/obj/NAME, programs in build/NAME.
# $(1) name, $(2) compiler, $(3) its flags for all code, $(4) those for our code only, $(5) those of mbedTLS,
# $(6) what is linked besides: -lcmocka, or the object built from its source
define unit_build
$(1)_OBJ := $$(BUILD)/obj/$(1)
# A variable: a comma in flags that stand in a call would end its argument.
$(1)_FLAGS := $(3) $(4) $(6)
$(1)_TESTS := $$(TEST_SOURCES:tests/unit/%.c=$$(BUILD)/$(1)/%)
$(1)_OBJECTS := $$(patsubst %.c,$$($(1)_OBJ)/%.o,$$(LIBRARY_SOURCES) $$(SIM_MODELS)) $$(NANOPB_NAMES:%=$$($(1)_OBJ)/nanopb/%.o)
DEPENDENCIES += $$($(1)_OBJECTS:.o=.d) $$(TEST_SOURCES:%.c=$$($(1)_OBJ)/%.d)
$(1)_MBEDTLS := $$(CACHE)/lib/mbedtls-$$(call library_key,$(2),glibc $(5)).a

ifeq ($$(filter $$($(1)_MBEDTLS),$$(UNIT_MBEDTLS)),)
UNIT_MBEDTLS += $$($(1)_MBEDTLS)
.PRECIOUS: $$($(1)_MBEDTLS)
$$($(1)_MBEDTLS):
	@tools/build/build_mbedtls.sh $$@ $$(MBEDTLS_DIR) $$(JOBS) $(2) $(5) $$(PREFIX_MAP)
endif

$$(BUILD)/$(1)/test_%: $$($(1)_OBJ)/tests/unit/test_%.o $$($(1)_OBJ)/libagent.a $$($(1)_MBEDTLS) $$(filter %.o,$(6))
	$$(call show,LINK,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(2) $(3) $(4) -o $$@ $$^ $$(filter-out %.o,$(6))

$$($(1)_OBJ)/libagent.a: $$($(1)_OBJECTS)
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^

$$($(1)_OBJ)/flags: FORCE
	$$(call remember,$$@,$$(shell $(2) --version | head -n 1) $$($(1)_FLAGS) $$(WARNINGS) $$(DEFINES) $$(INCLUDES))

$$($(1)_OBJ)/%.o: %.c $$($(1)_OBJ)/flags | deps-test
	$$(call show,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CCACHE) $(2) $(3) $(4) $$(WARNINGS) $$(DEFINES) '-DBUILD_ID="unit"' $$(INCLUDES) -MMD -MP -c $$< -o $$@

$$($(1)_OBJ)/nanopb/%.o: $$(NANOPB_DIR)/%.c $$($(1)_OBJ)/flags
	$$(call show,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(2) $(3) $$(DEFINES) $$(INCLUDES) -c $$< -o $$@
endef

PLAIN_MBEDTLS := $(LANGUAGE) -O1 -g $(MBEDTLS_ARCH_FLAGS)
ifdef MBEDTLS_DIR
$(eval $(call unit_build,unit,$(CC),$(SANITIZE),,$(PLAIN_MBEDTLS),-lcmocka))
endif

# Servers' certificates with Go's verdicts, recorded by `make x509-vectors`.
X509_VECTORS := $(BUILD)/vectors/x509/situations
$(X509_VECTORS): tests/vectors/x509/situations.zip
	@mkdir -p $(@D)
	$(Q)/usr/bin/python3 -m zipfile -e $< $(@D) && touch $@

$(foreach name,unit values memory coverage,$(BUILD)/$(name)/test_x509_vectors): | $(X509_VECTORS)

.PHONY: unit
unit: $(unit_TESTS)
	@tools/build/run_unit.py --jobs $(JOBS) $(unit_TESTS)

# With clang: implicit conversions that change a value; reads of uninitialised memory, for which everything has to
# be built with MSan: cmocka, nanopb, and mbedTLS without its assembly.
VALUES_FLAGS := $(SANITIZE)
VALUES_OWN := -fsanitize=implicit-conversion,nullability,local-bounds
MEMORY_FLAGS := $(SANITIZE_ALL) -fsanitize=memory -fsanitize-memory-track-origins=1 \
	'-DMBEDTLS_USER_CONFIG_FILE="tests/memory/mbedtls.h"'
MEMORY_CMOCKA := $(BUILD)/obj/memory/cmocka.o
DEPENDENCIES += $(BUILD)/obj/memory/tests/memory/syscall.d $(BUILD)/obj/memory/tests/memory/give_back.d
MEMORY_LINK := $(MEMORY_CMOCKA) $(BUILD)/obj/memory/tests/memory/syscall.o -Wl,--wrap=syscall \
	$(BUILD)/obj/memory/tests/memory/give_back.o -Wl,--wrap=memory_give_back
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
sanitize: $(values_TESTS) $(memory_TESTS)
	@tools/build/run_unit.py --name values --jobs $(JOBS) $(values_TESTS)
	@tools/build/run_unit.py --name memory --jobs $(JOBS) $(memory_TESTS)

.PHONY: coverage
coverage: $(coverage_TESTS)
	@tools/build/coverage.py --jobs $(JOBS) $(coverage_TESTS)

# The agent itself, for what only its process runs: src/host. Its counters are a file that it maps when it starts, thus before
# the sandbox, and that outlives a SIGKILL; all processes of the agent share it. ASSERT is the product's: a test makes one fail.
HOST_COVERAGE := $(BUILD)/obj/host-coverage
HOST_COVERAGE_RAW := $(CURDIR)/$(BUILD)/host-coverage/agent-%1m.profraw
HOST_COVERAGE_FLAGS := $(LANGUAGE) -O1 -g -fprofile-instr-generate=$(HOST_COVERAGE_RAW)%c -fcoverage-mapping \
	-mllvm -runtime-counter-relocation
HOST_COVERAGE_OBJECTS := $(SOURCES:%.c=$(HOST_COVERAGE)/%.o) $(NANOPB_NAMES:%=$(HOST_COVERAGE)/nanopb/%.o)
DEPENDENCIES += $(HOST_COVERAGE_OBJECTS:.o=.d)
$(HOST_COVERAGE)/flags: FORCE
	$(call remember,$@,$(shell $(CLANG) --version | head -n 1) $(HOST_COVERAGE_FLAGS) $(WARNINGS) $(DEFINES) $(INCLUDES))

$(HOST_COVERAGE)/%.o: %.c $(HOST_COVERAGE)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(HOST_COVERAGE_FLAGS) $(WARNINGS) $(DEFINES) '-DBUILD_ID="$(BUILD_ID)"' $(INCLUDES) -MMD -MP -c $< -o $@

$(HOST_COVERAGE)/nanopb/%.o: $(NANOPB_DIR)/%.c $(HOST_COVERAGE)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(LANGUAGE) -O1 -g $(DEFINES) $(INCLUDES) -c $< -o $@

$(BUILD)/host-coverage/$(NAME): $(HOST_COVERAGE_OBJECTS) $(unit_MBEDTLS)
	$(call show,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(HOST_COVERAGE_FLAGS) -o $@ $^
