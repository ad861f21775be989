/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the table by which the field filter reads an object of the Kubernetes API server. The
 * tables are generated from proto/projection.proto. Internal to kube.c; owns constant data only.
 */
#ifndef WIRE_KUBE_RULES_H
#define WIRE_KUBE_RULES_H

#include "wire/kube.h"

/*
 * Rules for an object of `kind` and `api_version` in a response of `shape`; both empty while they
 * are not known yet. `framed`: the input is a WatchEvent around the object. The rows down
 * to the object are the same in every table, so that a filter can be switched from one to the other
 * there.
 */
struct kube_rules kube_rules_of(enum kube_shape shape, bool framed, struct view kind,
                                struct view api_version);

#endif
