/* SPDX-License-Identifier: Apache-2.0 */
/* Readiness: a verdict over what other modules know. Owns no state and never changes any. */
#include "agent/state.h"

bool agent_ready(const struct agent *a)
{
    return a->registration.registered && a->publish.current && !a->stopping;
}
