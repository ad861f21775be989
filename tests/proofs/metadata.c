/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations of a claim, of any length. */
#include "dra_stubs.h"

#include "dra/metadata.c"

/* Proof claim_names. */
bool stub_claim_label_like(struct view text)
{
    stub_check_view(text);
    return text.len > 0u && text.len < NAMESPACE_CAP && any_bool();
}

void proof_metadata_annotation(void)
{
    char pod_claim[NAMESPACE_CAP];
    pod_claim[any_length(NAMESPACE_CAP - 1u)] = '\0';
    metadata_annotation(any_view(ANY_LENGTH), any_view(ANY_LENGTH), pod_claim);
    bool ends = false;
    for (unsigned i = 0; i < NAMESPACE_CAP; i++) {
        ends = ends || pod_claim[i] == '\0';
    }
    CHECK(ends);
}
