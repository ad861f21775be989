/* SPDX-License-Identifier: Apache-2.0 */
/* Names and bounds that both the writer and the reader of CDI annotations use. */
#ifndef DRA_CDI_INTERNAL_H
#define DRA_CDI_INTERNAL_H

#include "cfg/identity.h"
#include "cfg/limits.h"

/* Key of an annotation in a CDI file. The CDI files of both drivers use the prefix DRIVER_NAME. */
#define ANNOTATION(name) DRIVER_NAME "/" name
/*
 * Size in bytes of a buffer for the key of a result's annotation: "neuron.aws.com/result-", a
 * number below RESULTS_MAX, and NUL.
 */
#define RESULT_KEY_CAP (sizeof ANNOTATION("result-") + 2u)
/*
 * Size in bytes of a buffer for an allocation result as compact JSON, even if every value has its
 * greatest length. No value has a character that JSON escapes.
 */
#define RESULT_VALUE_CAP (REQUEST_BASE_CAP + DEVICE_NAME_CAP + UID_CAP + 144u)

#endif
