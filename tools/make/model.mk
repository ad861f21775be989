# SPDX-License-Identifier: Apache-2.0
# The model of a claim's life, and its comparison with the simulator: tests/model/README.md.

MODEL := /usr/bin/python3 tools/model/model.py
# Schedules of claims that the simulator plays for the comparison.
SCHEDULES ?= 2000

.PHONY: model model-quick model-deep model-defects model-trace model-trace-defects
model: deps-test
	@$(MODEL) check

model-quick: deps-test
	@$(MODEL) check --quick

model-deep: deps-test
	@$(MODEL) check --deep

model-defects: deps-test
	@$(MODEL) defects $(ONLY)

$(BUILD)/model/steps.txt: $(wildcard tests/model/*) tools/model/model.py | deps-test
	@$(MODEL) steps

model-trace: $(BUILD)/sim/sim $(BUILD)/model/steps.txt
	@$(BUILD)/sim/sim --jobs $(JOBS) --steps $(BUILD)/model/simulated.txt --claim-seeds $(SCHEDULES)
	@$(MODEL) trace $(BUILD)/model/simulated.txt --schedules $(SCHEDULES)

# Mistakes in the code of the agent: the simulator then makes a step that the model does not have.
model-trace-defects: model-trace
	@SIM_COMPILE=$(call defect_compile,$(SIM_FLAGS)) SIM_LINK='$(MOVING:%=-Wl,--wrap=%) $(VIRTUAL_OBJECTS)' \
		$(MODEL) trace-defects $(ONLY)
