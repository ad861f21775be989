# SPDX-License-Identifier: Apache-2.0
# The evidence page, and the parts of it that no other goal makes: tools/evidence/README.md.

.PHONY: evidence evidence-page
evidence: deps-all
	@$(with_go) /usr/bin/python3 tools/evidence/evidence.py

evidence-page:
	@/usr/bin/python3 tools/evidence/evidence.py --page

EVIDENCE_PARTS := $(addprefix evidence-,requirements threats gates misra memory sandbox binary sbom twice defects)
.PHONY: $(EVIDENCE_PARTS)
$(EVIDENCE_PARTS): deps-all
	@$(with_go) BUILD_ID='$(BUILD_ID)' REVISION=$(REVISION) CREATED=$(CREATED) \
		/usr/bin/python3 tools/evidence/make_part.py $(@:evidence-%=%)

evidence-gates evidence-misra: $(BUILD)/lint/flags
evidence-gates evidence-memory evidence-sandbox evidence-binary: all
evidence-sbom evidence-twice: image

# From what the campaign did so far; `make fuzz-ledger` writes the tracked ledger.
.PHONY: evidence-fuzz
evidence-fuzz:
	@/usr/bin/python3 tools/fuzz/campaign.py evidence

# With what shows that they can fail; proofs and model write the part, so they come last.
.PHONY: evidence-proofs evidence-model
evidence-proofs:
	@$(MAKE) --no-print-directory proofs-defects
	@$(MAKE) --no-print-directory proofs
evidence-model:
	@$(MAKE) --no-print-directory model-defects
	@$(MAKE) --no-print-directory model-trace-defects
	@$(MAKE) --no-print-directory model
