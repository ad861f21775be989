/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what the API server would refuse in a device or its attributes before the agent sends them,
 * because one bad item makes the server refuse a whole slice. Owns these rules; holds no state.
 * Source: validation of ResourceSlice (resource.k8s.io, pkg/apis/resource/validation of
 * Kubernetes).
 */
#ifndef DRA_ISSUE_H
#define DRA_ISSUE_H

#include "dra/device.h"

/* Why the API server would refuse an item. Each comment states the rule that the item violates. */
enum issue {
    ISSUE_NONE,
    ISSUE_NAME, /* a device name must be a DNS label of at most 63 characters (RFC 1123) */
    /* a key must be a C identifier of at most 32 characters, optionally after "<DNS subdomain>/" */
    ISSUE_KEY,
    ISSUE_LENGTH,  /* a value must have at most 64 bytes */
    ISSUE_UTF8,    /* a value must be valid UTF-8 */
    ISSUE_VERSION, /* a version must follow Semantic Versioning 2.0.0 */
    ISSUES
};

/* Describes an issue in one clause for a log line. Static text; never NULL. */
const char *issue_text(enum issue issue);
/*
 * The first issue of an attribute; ISSUE_NONE: it has none. The attribute's texts need not end in
 * NUL.
 */
enum issue attribute_issue(const struct attribute *attribute);
/* The issue of a device's name; ISSUE_NONE: it has none. Does not check the device's attributes. */
enum issue device_name_issue(const struct device *device);

#endif
