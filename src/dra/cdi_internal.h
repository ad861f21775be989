/* SPDX-License-Identifier: Apache-2.0 */
/* Names and bounds that the writer and the reader of CDI annotations use. Owns nothing else. */
#ifndef DRA_CDI_INTERNAL_H
#define DRA_CDI_INTERNAL_H

#include "cfg/identity.h"
#include "cfg/limits.h"

/* Key of one of this driver's annotations. */
#define ANNOTATION(name) DRIVER_NAME "/" name
/* "neuron.aws.com/result-" and a number below RESULTS_MAX. */
#define RESULT_KEY_CAP (sizeof ANNOTATION("result-") + 2u)
/* One result as compact JSON: every member at its longest, with names that need no escapes. */
#define RESULT_VALUE_CAP (REQUEST_BASE_CAP + DEVICE_NAME_CAP + UID_CAP + 144u)

#endif
