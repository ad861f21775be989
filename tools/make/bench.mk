# SPDX-License-Identifier: Apache-2.0
# Figures beside a driver in Go.

# The reference is static and stripped, as in an image. Go finds by itself what changed.
BENCH := $(BUILD)/bench
# The parsers with the product's own optimisation, beside nghttp2's.
BENCH_SPEED := tests/bench/wire/speed.c $(sort $(wildcard src/base/*.c src/wire/h2*.c src/wire/hpack.c \
	generated/hpack*.c))
BENCH_FLAGS = $(LANGUAGE) $(OPTIMISE) -flto -ffunction-sections -fdata-sections -g
$(BENCH)/speed: $(BENCH_SPEED:%.c=$(BENCH)/obj/%.o)
	$(call show,LINK,$@)
	$(Q)$(CC) $(BENCH_FLAGS) -o $@ $^ -lnghttp2
$(BENCH)/roundtrip $(BENCH)/floor: $(BENCH)/%: $(BENCH)/obj/tests/bench/wire/%.o $(BENCH)/obj/tests/bench/wire/client.o
	$(call show,LINK,$@)
	$(Q)$(CC) -o $@ $^
$(BENCH)/obj/tests/bench/wire/speed.o $(HOT:%.c=$(BENCH)/obj/%.o): private OPTIMISE := -O2
$(BENCH)/obj/%.o: %.c $(PRODUCT)/flags | deps-all
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_FLAGS) $(WARNINGS) $(DEFINES) $(INCLUDES) -MMD -MP -c $< -o $@

.PHONY: bench-programs
bench-programs: all deps-all $(BENCH)/speed $(BENCH)/roundtrip $(BENCH)/floor
	@mkdir -p $(BENCH)
	@$(with_go) && cd tests/bench && export CGO_ENABLED=0 && \
		go build -trimpath -ldflags '-s -w' -o $(CURDIR)/$(BENCH)/reference ./reference && \
		go build -trimpath -o $(CURDIR)/$(BENCH)/harness ./harness

BENCH_RUN = $(BENCH)/harness -agent $(AGENT) -reference $(BENCH)/reference -simnode tools/simnode/simnode.py -dir $(BENCH)

.PHONY: bench
bench: bench-programs
	@$(BENCH_RUN) -out $(BENCH)/bench.json $(if $(UPDATE),-readme tests/bench/README.md -command 'make bench UPDATE=1')
	$(if $(UPDATE),@cp $(BENCH)/bench.json tests/bench/figures.json)
	@$(with_go) && cd tests/conformance && go test -count=1 -run '^(TestSystemCalls.*|TestScrapeCost|TestPodListCost)$$'

# Where the time of a prepare goes: functions by callgrind, system calls by strace.
.PHONY: bench-graph
bench-graph: bench-programs
	@$(BENCH)/harness -graph -agent $(AGENT).debug -simnode tools/simnode/simnode.py -dir $(BENCH) >$(BENCH)/graph.md
	@cat $(BENCH)/graph.md

# Its figures say nothing: that both sides publish the same slice, answer alike and are measured at all is what counts.
.PHONY: bench-smoke
bench-smoke: bench-programs
	@$(BENCH_RUN) -out $(BENCH)/smoke.json -claims 8 -limited 2 -starts 1 -patience 1s >$(BENCH)/smoke.txt
	@printf 'bench-smoke: %s rows\n' "$$(grep -c '^|' $(BENCH)/smoke.txt)"

# A node's life with churn: hours of the real binary, and two days in the simulator.
HOURS ?= 2
.PHONY: soak
soak: all deps-all
	@mkdir -p $(BUILD)/soak && $(with_go) && cd tests/conformance && SOAK_HOURS=$(HOURS) SOAK_OUT=$(CURDIR)/$(BUILD)/soak/soak.json \
		go test -count=1 -timeout 0 -run '^TestSoak$$'

DEPENDENCIES += $(BENCH)/obj/*/*/*.d $(BENCH)/obj/*/*/*/*.d
