# SPDX-License-Identifier: Apache-2.0
# Builds, tests and checks neuron-dra-agent. `make help` lists what to type.
#
# This file has the settings and names the goals, by subject; the rules of a subject are in the file of tools/make that
# its heading names. Everything made lies under build/; sources and builds of libraries, objects of tests and
# results of analysers lie in the cache, keyed by what went into them, so that a fresh clone does not make them again.

# --- settings -----------------------------------------------------------------------------------------

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

SOURCES := $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c boards/*.c generated/*.c))
# The program around the code that tests link.
MAIN := src/main.c
LIBRARY_SOURCES := $(filter-out $(MAIN),$(SOURCES))
TEST_SOURCES := $(sort $(wildcard tests/unit/test_*.c))
SIM_MODELS := $(sort $(wildcard $(addsuffix /*.c,tests/sim $(addprefix tests/sim/,apiserver disk kubelet))))
NANOPB_NAMES := pb_common pb_encode pb_decode

# In this order: a file uses what those before it define. compile.mk has the compilers and flags of all builds.
include $(addprefix tools/make/,deps.mk compile.mk agent.mk unit.mk gates.mk sim.mk mutants.mk proofs.mk model.mk \
	fuzz.mk peers.mk cluster.mk image.mk release.mk bench.mk scale.mk evidence.mk)

# --- the agent: tools/make/agent.mk -------------------------------------------------------------------
all: ## build/neuron-dra-agent and build/neuron-dra-agent.debug

# --- unit tests: tools/make/unit.mk -------------------------------------------------------------------
unit: ## unit tests under the address and undefined-behaviour sanitizers
sanitize: ## unit tests under clang's sanitizers: implicit conversions, uninitialised memory
coverage: ## lines, branches, MC/DC of the unit tests, each gap with its reason or counted by room: build/coverage (UPDATE=1)

# --- simulated nodes: tools/make/sim.mk ---------------------------------------------------------------
demo: ## the agent on a simulated node, with a stand-in kubelet and API server: seconds, no cluster
capture: ## keeps a bundle of a real node (BUNDLE=node.tar NAME=trn2u-2.31) as a simulated node that every later agent is tested on
demo-debian: ## make demo on a fresh Debian 12 and 13, from HEAD (as root, with debootstrap)
sim: ## days of a node in seconds: scenarios and random faults on a virtual clock (SEED=n, CLAIMS=n, ALIGNED=n, SCENARIO=text)
soak-sim: ## two days of a node with churn in the simulator: seconds
crash: ## the claim store in over a million states that a crash can leave, each opened again (CRASH_STEPS=n)
claim-defects: ## mistakes put into the claim state, one at a time; simulator, crash states or unit tests must find each

# --- mutants: tools/make/mutants.mk -------------------------------------------------------------------
mutants: ## 600 mutants by a seeded generator; unit tests, simulator or crash states must find each (BUDGET=minutes)
mutants-sample: ## 40 of them, those of changed lines first (SINCE=commit): minutes

# --- a claim's life as a model: tools/make/model.mk -----------------------------------------------------
model: ## tests/model searched by Spin: crashes, reboots, lost witnesses, two agents; no claim lost or shared
model-quick: ## the smallest configuration of make model: a minute
model-deep: ## the same with two claims and two faults: for every night, with 16 GB of memory
model-defects: ## mistakes put into the model, one at a time; Spin must find each, with a counterexample (ONLY=name)
model-trace-defects: ## mistakes put into the agent, one at a time; model-trace must find a step that the model does not allow
model-trace: ## each step of a claim in the simulator's schedules is one that the model allows (SCHEDULES=n)

# --- fuzzers: tools/make/fuzz.mk ----------------------------------------------------------------------
fuzz: ## every fuzz target for FUZZ_SECONDS (8) on its corpus
fuzz-defects: ## mistakes put into parsers and agent, one at a time; the fuzz targets must find each
fuzz-coverage: ## lines of src/wire that the corpora alone reach: at least 95 %
fuzz-targets: ## every target, its corpus and its options into OUT=folder (CC, CFLAGS, LIB_FUZZING_ENGINE)
fuzz-elsewhere: ## what OSS-Fuzz builds of tests/fuzz, in a fresh Debian 13, and its checks (as root; BUILDS="address-afl")
fuzz-campaign: ## hours of fuzzing towards 10⁷ and 10⁸ executions, resumable (CAMPAIGN_SECONDS=3600, TARGETS="hpack json")
fuzz-campaign-state: ## executions that each target still lacks on the code of today
fuzz-ledger: ## tests/fuzz/LEDGER.md, from what the campaign did so far

# --- proofs: tools/make/proofs.mk ----------------------------------------------------------------------
proofs: ## proofs by CBMC of functions that read bytes of a peer or of a disk: those that changed, then build/proofs/report.txt
proofs-defects: ## mistakes put into the proved sources, one at a time; the proofs must find each

# --- programs made by others: tools/make/peers.mk -----------------------------------------------------
conformance: ## both sides of every protocol, with peers made by others
host-coverage: ## lines of src/host that the conformance tests run: a table, build/host-coverage/report
x509-vectors: ## records the situations of tests/conformance/verdict for the unit tests: tests/vectors/x509
x509-million: ## a million random chains of certificates, and a million mangled ones, beside Go's crypto/x509 (X509_SEED=n, X509_CHAINS=n)
x509-fuzz: ## chains of certificates from the inputs of Go's fuzzer (X509_FUZZ_SECONDS=60)
faults: ## every system call of a prepare, an unprepare and a start with repair fails, each in four ways (ten minutes)
abuse: ## hostile peers on every socket and a hostile API server: error codes, memory, CPU, effect on other peers

# --- real clusters on this machine: tools/make/cluster.mk ---------------------------------------------
e2e: ## pods on a real scheduler, API server, kubelet and containerd (K8S=1.36.3)
e2e-matrix: ## the cases that depend on versions, on every release, kubelet and API version kept working (ROWS=...; UPDATE=1)
record: ## records what real kubelets and API servers send, into tests/vectors/recorded
e2e-debian: ## make e2e on a fresh Debian 12 and 13, from HEAD (as root, with debootstrap, no other cluster running)
cluster: ## a real one-node cluster left running (BOARD=trn2.48xlarge), build/cluster/kubeconfig
cluster-down: ## ends that cluster

# --- image and chart: tools/make/image.mk -------------------------------------------------------------
image: ## an OCI archive with the agent alone, and its SBOM (SPDX): build/image
image-arm64: ## the same for arm64, on another machine, by Debian's cross compiler: build/image/arm64
image-test: ## contents and size of the image, its SBOM, the files of a release; the same bytes when built in another folder
manifests: ## cfg/deploy/manifests from the chart, for those who do not use Helm
autoscale-test: ## the slices of six types before Karpenter's own allocator, for the claim of each example: for every night
chart-test: ## the chart without a cluster: values, releases, rights, names, policies, alert rules; cfg/deploy/manifests as it renders them

# --- a release: tools/make/release.mk -----------------------------------------------------------------
release: ## all that a release page carries, for amd64 and arm64, with checksums and a statement to sign: build/release
release-twice: ## the same bytes of make release from two folders: a second whole build
release-evidence: ## the evidence of the release's commit, for its page: build/release-evidence.tar.gz

# --- figures: tools/make/bench.mk ---------------------------------------------------------------------
bench: ## the agent beside a Go plugin on the kubelet's own library: memory, latency, ratios, the floor of a call; its system calls (UPDATE=1)
soak: ## hours of the binary with churn: no growth from the first to the last quarter; build/soak/soak.json (HOURS=2)
bench-graph: ## where the time of a prepare goes: functions by callgrind, system calls by strace; build/bench/graph.md
bench-smoke: ## whether make bench still measures, by a few claims

# --- many nodes: tools/make/scale.mk ------------------------------------------------------------------
scale: ## N agents against one real API server: times, requests, bytes, CPU (N=200, LONG=1, KUBELET=absent, REFERENCE=n, UPDATE=1)

# --- gates, and files that are written from others: tools/make/gates.mk -------------------------------
check: ## the gates: warnings, analysers, MISRA rules, layers, heap, stack, size, form, generated files
check-fast: ## what the gates can say within ten seconds: those that read sources alone, warnings of changed C files
advisories: ## security advisories of the linked libraries: verdicts that still hold, a list that is 30 days old at most (TRACKER=FILE)
graph: ## who includes and calls whom, circles, the ways of three changes: build/graph/graph.md
size: ## bytes by layer and library beside the ledger tests/bench/size.json (UPDATE=1 writes it)
generate: ## generated/ from proto/, the files of boards/ and tools/build/hpack_tables.json
doc-headers: ## the public headers as a page, by doxygen: build/doc/html/index.html
man: ## build/neuron-dra-agent.1, the man page, from what the binary says about itself
docs: ## from the tables in the code, the golden slices and values.yaml: src/agent/report/CATALOGUE.md, cfg/deploy/ATTRIBUTES.md, cfg/deploy/chart/README.md, flags and Events in cfg/deploy/reference.md, the states in src/agent/ledger/README.md

# --- what a reviewer asks for: tools/make/evidence.mk -------------------------------------------------
evidence: ## the evidence of this commit as a page, build/evidence/index.html; makes what is missing (three hours at most)
evidence-page: ## that page from the parts that are there

# --- what the machine needs: tools/make/deps.mk -------------------------------------------------------
deps: ## installs what a bare Debian 12 or 13 lacks (every target that needs it does this)
deps-mirrors: ## sources when mirrors have moved on, expired, fail or serve wrong bytes; builds that share a cache: seconds, on loopback

# --- everything ---------------------------------------------------------------------------------------
.PHONY: test
test: all deps-all image ## everything CI needs: check, unit, sanitize, coverage, sim, crash, fuzz, fuzz-coverage, fuzz-defects, mutants-sample, deps-mirrors, image-test, chart-test, abuse, bench-smoke, demo, conformance, e2e
	@/usr/bin/python3 tools/build/run_tests.py --k8s $(K8S)

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
-include $(wildcard $(DEPENDENCIES))
