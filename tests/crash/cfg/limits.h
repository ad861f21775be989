/* SPDX-License-Identifier: Apache-2.0 */
/* The limits, with a store of four slots: more slots make more states and show nothing more. */
#ifndef TESTS_CRASH_CFG_LIMITS_H
#define TESTS_CRASH_CFG_LIMITS_H

#include "../../../cfg/limits.h"

#undef CLAIMS_MAX
#define CLAIMS_MAX 4u

#endif
