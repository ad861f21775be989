/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts of a node resource, in texts of any length. */
#include "dra_stubs.h"

#include "dra/node_resource.c"

void proof_node_quantity(void)
{
    char quantity[NODE_QUANTITY_CAP] = "";
    unsigned resource = any_unsigned();
    ASSUME(resource < NODE_RESOURCES); /* the settings that settings.c has a flag for */
    enum status s = node_quantity_parse(resource, any_view(ANY_LENGTH), quantity);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
    CHECK(s == STATUS_OK || quantity[0] == '\0');
}
