# SPDX-License-Identifier: Apache-2.0
# Mutants: mistakes that a generator puts into the code, one at a time; unit tests, simulator and crash states must find them.

# Without sanitizers and optimisation across functions, so that a program is linked and run in a fraction of the time; what
# survives there is tried in the build of `make unit`. Functions that ran are noted: tests/mutants/reach.c.
MUTANTS_FLAGS := $(LANGUAGE) -O1 -fno-inline -fno-pie -no-pie -Qunused-arguments
MUTANTS_OWN := -fsanitize-coverage=func,inline-bool-flag,pc-table
MUTANTS_REACH := $(BUILD)/obj/mutants/tests/mutants/reach.o
ifneq ($(filter $(MUTANT_GOALS),$(MAKECMDGOALS)),)
$(eval $(call unit_build,mutants,$(CLANG),$(MUTANTS_FLAGS),$(MUTANTS_OWN),$(PLAIN_MBEDTLS),-lcmocka $(MUTANTS_REACH)))
$(BUILD)/mutants/test_x509_vectors: | $(X509_VECTORS)

# Objects, because a mutant takes the place of one, and calls between states are counted by their symbols: MOVING.
MUTANTS_SIM := $(VIRTUAL_SOURCES:%.c=$(BUILD)/obj/mutants/%.o) $(NANOPB_NAMES:%=$(BUILD)/obj/mutants/nanopb/%.o)
$(BUILD)/mutants/sim: $(MUTANTS_SIM) $(MUTANTS_REACH)
	$(call show,LINK,$@)
	$(Q)$(CLANG) $(MUTANTS_FLAGS) $(MOVING:%=-Wl,--wrap=%) -o $@ $^
DEPENDENCIES += $(MUTANTS_SIM:.o=.d)
endif

MUTANTS_SEED ?= 1
MUTANTS_COUNT ?= 600
# Minutes. What was tried is kept in build/mutants: the next call goes on.
BUDGET ?= 240
# Lines that changed since then are sampled first.
SINCE ?= HEAD~5
# How many, and the minutes after which it judges what was tried.
SAMPLE ?= 40
SAMPLE_MINUTES ?= 2

# Where the tool finds compilers and objects.
run_mutants = MUTANT_COMPILE=$(subst $(CC) ,$(CLANG) ,$(call defect_compile,$(LANGUAGE) -O2 -fno-pie)) \
	UNIT_COMPILE=$(call defect_compile,$(SANITIZE)) CRASH_COMPILE=$(call defect_compile,$(CRASH_FLAGS) -Itests/crash) \
	MUTANT_CC='$(CLANG)' MUTANT_LINK='$(BUILD)/obj/mutants/libagent.a $(MUTANTS_REACH) $(mutants_MBEDTLS) -lcmocka' \
	UNIT_LINK='$(BUILD)/obj/unit/libagent.a $(unit_MBEDTLS) -lcmocka' \
	SIM_LINK='$(MUTANTS_SIM) $(MUTANTS_REACH) $(MOVING:%=-Wl,--wrap=%)' CRASH_LINK='$(CRASH_OBJECTS)' \
	$(PYTHON_TOOLS)/bin/python tools/mutants/mutants.py

.PHONY: mutants
mutants: $(mutants_TESTS) $(BUILD)/mutants/sim $(unit_TESTS) $(BUILD)/sim/crash
	@$(run_mutants) --seed $(MUTANTS_SEED) --count $(MUTANTS_COUNT) --budget $(BUDGET) --jobs $(JOBS) \
		$(if $(ONLY),--only $(ONLY))

.PHONY: mutants-sample
mutants-sample: $(mutants_TESTS)
	@$(run_mutants) --sample $(SAMPLE) --seed $(MUTANTS_SEED) --since $(SINCE) --budget $(SAMPLE_MINUTES) --jobs $(JOBS)
