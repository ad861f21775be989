# SPDX-License-Identifier: Apache-2.0
# Many agents against one API server.

SCALE := $(BUILD)/scale
N ?= 200
REFERENCE ?= 0

.PHONY: scale-programs
scale-programs: all deps-all
	@mkdir -p $(SCALE)
	@$(with_go) && export CGO_ENABLED=0 && \
		(cd tests/scale && go test ./fleet && go build -trimpath -o $(CURDIR)/$(SCALE)/fleet ./fleet) && \
		(cd tests/bench && go build -trimpath -ldflags '-s -w' -o $(CURDIR)/$(SCALE)/reference ./reference)

# LONG=1 has the lengths and sizes of tests/scale/README.md; without it a run of 200 takes at most five minutes.
SCALE_LONG := --rest 300 --outage 120 --storm 60 --foreign-claims 20000 --foreign-slices 10000 --patience 300
SCALE_RUN = /usr/bin/python3 tests/scale/scale.py --agents $(N) --reference $(REFERENCE) --agent $(AGENT) \
	--reference-binary $(SCALE)/reference --fleet $(SCALE)/fleet --k8s $(K8S) --kubelet $(or $(KUBELET),registers) \
	--phases '$(PHASES)' $(if $(LONG),$(SCALE_LONG)) $(if $(KERNEL_FILES),--kernel-files) $(if $(OWN_LEVEL),--own-level)

# UPDATE=1 keeps the summaries of this run, also when a goal is missed, and writes table and plots from all that are kept.
SCALE_KEEP = mkdir -p tests/scale/results && cp $(SCALE)/*.json tests/scale/results && \
	$(SCALE)/fleet report -results tests/scale/results -readme tests/scale/README.md -plots tests/scale
.PHONY: scale
scale: scale-programs
	@rm -f $(SCALE)/*.json
	@$(with_go) && $(SCALE_RUN); status=$$?; \
		$(SCALE)/fleet report -results $(SCALE) -plots $(SCALE) >$(SCALE)/table.md && \
		$(if $(UPDATE),$(SCALE_KEEP) &&) exit $$status
