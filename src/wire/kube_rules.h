/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field lists by which answers of the Kubernetes API server are read, one table per kind of
 * object (field numbers: proto/SOURCES).
 * Internal to kube.c; owns constant data only.
 */
#ifndef WIRE_KUBE_RULES_H
#define WIRE_KUBE_RULES_H

#include "wire/kube.h"

/*
 * Rules for an object of `kind` and `api_version` in an answer of `shape`; both empty while they
 * are not known yet. `framed` says that the input is a WatchEvent around the object. The rows down
 * to the object are the same in every table, so that a filter can be switched from one to the other
 * when the object's TypeMeta is known.
 */
struct kube_rules kube_rules_of(enum kube_shape shape, bool framed, struct view kind,
                                struct view api_version);

#endif
