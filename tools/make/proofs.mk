# SPDX-License-Identifier: Apache-2.0
# Proofs with CBMC, which tools/proofs/install.sh puts into the cache.

PROOF_JOBS ?= 2

.PHONY: proofs
proofs: deps-test
	@/usr/bin/python3 tools/proofs/prove.py --jobs $(PROOF_JOBS)

.PHONY: proofs-defects
proofs-defects: deps-test
	@/usr/bin/python3 tools/proofs/prove.py --defects --jobs $(PROOF_JOBS)
