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

/* Why the API server would refuse an item. The comments give the violated rule. */
enum issue {
    ISSUE_NONE,
    ISSUE_NAME,    /* device name: a DNS label of at most 63 characters (RFC 1123) */
    ISSUE_KEY,     /* attribute key: [DNS subdomain '/'] C identifier of at most 32 characters */
    ISSUE_LENGTH,  /* text: at most 64 bytes */
    ISSUE_UTF8,    /* text: valid UTF-8 */
    ISSUE_VERSION, /* version: as Semantic Versioning 2.0.0 requires */
    ISSUES
};

/* Describes an issue in one clause for a log line. Static text; never NULL. */
const char *issue_text(enum issue issue);
/* The first issue of an attribute, or ISSUE_NONE. The texts of the attribute may lack their NUL. */
enum issue attribute_issue(const struct attribute *attribute);
/* The issue of a device's name, or ISSUE_NONE. Does not check the attributes. */
enum issue device_name_issue(const struct device *device);

#endif
