/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percent-encoding (RFC 3986 §2.1), as paths and grpc-message carry it. Owns nothing and never
 * judges what an octet means.
 */
#ifndef SIM_PERCENT_H
#define SIM_PERCENT_H

#include "base/bytes.h"

/* Octet of the three bytes "%XX" that the view begins with, or -1 when it begins otherwise. */
int sim_percent_octet(struct view v);

#endif
