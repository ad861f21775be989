# SPDX-License-Identifier: Apache-2.0
# The tests against programs made by others, and what runs the tests in Go.

export AGENT := $(CURDIR)/$(BUILD)/$(NAME)
# Read when a recipe runs: deps-all may have written it just before.
with_go = PATH="$$(dirname "$$(sed -n 's/^GO := //p' $(BUILD)/deps/paths.mk)"):$$PATH"
# Runs a command, and repeats at the end what failed.
failures := /usr/bin/python3 $(CURDIR)/tools/build/failures.py
# Tests with deadlines run beside each other on few cores. Up to four that fail run once more, alone; build/test/PART.reruns
# names them, and so does the summary of `make test`. What fails alone too, or with more than four others, has failed.
rerun = go tool -modfile=$(CURDIR)/tools/build/gotestsum/go.mod gotestsum --format=standard-quiet \
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

HANDSHAKE_SOURCES := tests/interop/handshake.c $(addprefix src/host/,panic.c system.c) $(wildcard src/host/apiserver/tls*.c src/x509/*.c) \
	src/base/bytes.c src/base/ip.c src/base/text.c src/base/status.c src/base/time.c
$(INTEROP)/handshake: $(HANDSHAKE_SOURCES) $(wildcard src/host/*.h src/host/apiserver/*.h src/x509/*.h src/base/*.h cfg/*.h) $(unit_MBEDTLS) $(INTEROP)/flags
	$(call show,LINK,$@)
	$(Q)$(CC) $(INTEROP_FLAGS) -o $@ $(HANDSHAKE_SOURCES) $(unit_MBEDTLS)

# For speed, and the sanitizers have the same code in handshake.
VERDICTS_SOURCES := $(patsubst %/handshake.c,%/verdicts.c,$(HANDSHAKE_SOURCES))
$(INTEROP)/verdicts: $(VERDICTS_SOURCES) $(wildcard src/host/*.h src/host/apiserver/*.h src/x509/*.h src/base/*.h cfg/*.h) $(unit_MBEDTLS) $(INTEROP)/flags
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
conformance: all older deps-all interop-programs
	@mkdir -p $(BUILD)/test && $(with_go) && cd tests/conformance && $(failures) $(rerun) --packages '. ./verdict' -- \
		-count=1 -timeout 30m -skip '^Test(Abuse|Soak$$)'

# The same tests with an agent that counts its lines; see unit.mk. A test that measures memory, system calls or time may fail
# with this agent: the lines that it ran count all the same, and the report says which failed.
.PHONY: host-coverage
host-coverage: all older deps-all interop-programs $(BUILD)/host-coverage/$(NAME)
	@rm -f $(BUILD)/host-coverage/*.profraw
	@$(with_go) && cd tests/conformance && AGENT=$(CURDIR)/$(BUILD)/host-coverage/$(NAME) go test -count=1 -timeout 60m -parallel 4 -skip '^TestSoak$$' . \
		>$(CURDIR)/$(BUILD)/host-coverage/tests.log 2>&1; \
		/usr/bin/python3 $(CURDIR)/tools/build/host_coverage.py --build $(CURDIR)/$(BUILD) --agent $(NAME)

# Not a part of `make test`: half an hour. Another seed each time: X509_SEED=n.
.PHONY: x509-million
x509-million: interop-programs
	@$(with_go) && cd tests/conformance && X509_CHAINS=$(or $(X509_CHAINS),1000000) \
		X509_SEED=$(or $(X509_SEED),$$(date +%Y%m%d)) $(failures) go test -count=1 -timeout 180m -v -run '^Test(Random|Mangled)Chains$$' ./verdict

# Go's own fuzzer: the bytes of an input are the decisions of a chain, which is then signed.
.PHONY: x509-fuzz
x509-fuzz: interop-programs
	@$(with_go) && cd tests/conformance && go test -run '^FuzzRecipes$$' -fuzz '^FuzzRecipes$$' \
		-fuzztime $(or $(X509_FUZZ_SECONDS),60)s ./verdict

# After a change of the situations in tests/conformance/verdict.
.PHONY: x509-vectors
x509-vectors: deps-all
	@$(with_go) && cd tests/conformance && X509_VECTORS=record $(failures) go test -count=1 -run '^TestVectors$$' ./verdict

.PHONY: faults
faults: all deps-all
	@$(with_go) && cd tests/conformance && FAULT_POINTS=all $(failures) go test -count=1 -timeout 120m -parallel 20 \
		-run '^TestEverySystemCall'

.PHONY: abuse
abuse: all deps-all
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
