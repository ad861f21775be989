# SPDX-License-Identifier: Apache-2.0
# The demo, the simulator, the crash states of the claim store, and the mistakes that they have to find.

# --- the demo: stand-ins for kubelet and API server, on what is shared of src -----------------------------------

SIM := $(BUILD)/obj/sim
SIM_SHARED := $(sort $(wildcard src/base/*.c src/wire/h2*.c src/wire/hpack.c generated/hpack*.c)) \
	src/wire/kube.c src/wire/kube_filter.c generated/registration.pb.c generated/dra.pb.c
SIM_OBJECTS := $(SIM_MODELS:%.c=$(SIM)/%.o) $(SIM_SHARED:%.c=$(SIM)/%.o) $(NANOPB_NAMES:%=$(SIM)/nanopb/%.o)
SIM_PROGRAMS := $(BUILD)/sim/sim-kubelet $(BUILD)/sim/sim-apiserver
SIM_FLAGS := $(LANGUAGE) -O3 -g -flto=auto

.PHONY: demo
demo: all $(SIM_PROGRAMS) deps-demo
	@/usr/bin/python3 tools/simnode/demo.py --build $(BUILD)

# Not a part of `make test`: it installs two systems.
.PHONY: demo-debian
demo-debian:
	@tests/demo/debootstrap.sh

# BUNDLE: a tar archive, a directory or a sysfs.txt; NAME: of the folder in tests/vectors/captures.
.PHONY: capture
capture: all
	@/usr/bin/python3 tools/simnode/capture.py keep '$(BUNDLE)' '$(NAME)'

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
	$(Q)$(CCACHE) $(CC) $(SIM_FLAGS) $(WARNINGS) $(DEFINES) '-DBUILD_ID="sim"' $(INCLUDES) -MMD -MP -c $< -o $@

# --- the simulator: the whole agent and both models in one process, on a virtual clock ----------------------------

VIRTUAL_SOURCES := $(sort $(wildcard tests/sim/virtual/*.c)) $(SIM_MODELS) \
	$(filter-out $(MAIN) src/host/%,$(SOURCES))
VIRTUAL_OBJECTS := $(VIRTUAL_SOURCES:%.c=$(SIM)/%.o) $(NANOPB_NAMES:%=$(SIM)/nanopb/%.o)

.PHONY: sim
sim: $(BUILD)/sim/sim
	@$(BUILD)/sim/sim --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(if $(CLAIMS),--claims $(CLAIMS)) $(if $(ALIGNED),--aligned $(ALIGNED)) $(if $(SCENARIO),--scenario '$(SCENARIO)')

# Also a row of `make sim`.
.PHONY: soak-sim
soak-sim: $(BUILD)/sim/sim
	@$(BUILD)/sim/sim --scenario '48 hours'

# tests/sim/virtual/moves.c counts the moves between states; link-time optimization would inline them past the linker.
MOVING := ledger_move ledger_move_record ledger_move_flush handover_move
$(SIM)/src/agent/ledger/ledger_states.o $(SIM)/src/agent/ledger/handover_states.o $(SIM)/tests/sim/virtual/moves.o: SIM_FLAGS += -fno-lto
$(BUILD)/sim/sim: $(VIRTUAL_OBJECTS)
	$(call show,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SIM_FLAGS) $(MOVING:%=-Wl,--wrap=%) -o $@ $^

# The same, with calls of the agent recorded: tools/graph/way.py.
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
	$(Q)$(CCACHE) $(CC) $(WAY_FLAGS) $(RECORDED) $(WARNINGS) $(DEFINES) '-DBUILD_ID="way"' $(INCLUDES) -MMD -MP -c $< -o $@

# --- the claim store after every crash: the agent with a store of four slots -------------------------------------

CRASH := $(BUILD)/obj/crash
CRASH_OBJECTS := $(patsubst %.c,$(CRASH)/%.o,$(WAY_AGENT) tests/crash/crash.c) $(NANOPB_NAMES:%=$(SIM)/nanopb/%.o)
CRASH_FLAGS := $(LANGUAGE) -O2 -g
# Steps of a script; one more is ten times as many states.
CRASH_STEPS ?= 2

.PHONY: crash
crash: $(BUILD)/sim/crash
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
claim-defects: $(DEFECT_TARGETS)
	@UNIT_COMPILE=$(call defect_compile,$(SANITIZE)) UNIT_LINK='$(BUILD)/obj/unit/libagent.a $(unit_MBEDTLS) -lcmocka' \
		SIM_COMPILE=$(call defect_compile,$(SIM_FLAGS)) SIM_LINK='$(VIRTUAL_OBJECTS)' \
		CRASH_COMPILE=$(call defect_compile,$(CRASH_FLAGS) -Itests/crash) CRASH_LINK='$(CRASH_OBJECTS)' \
		/usr/bin/python3 tools/fuzz/defects.py $(if $(ONLY),--only $(ONLY)) claims

DEPENDENCIES += $(WAY_OBJECTS:.o=.d) $(CRASH_OBJECTS:.o=.d) $(SIM_OBJECTS:.o=.d) $(VIRTUAL_OBJECTS:.o=.d) \
	$(SIM)/tests/sim/host/*.d
