/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API server would refuse of a device or of one of its attributes, told before it is sent:
 * one bad item makes the server refuse a whole slice. Owns these rules; holds no state. Source:
 * validation of ResourceSlice (resource.k8s.io, pkg/apis/resource/validation of Kubernetes).
 */
#ifndef DRA_FLAW_H
#define DRA_FLAW_H

#include "dra/device.h"

/* Why an item cannot be published. */
enum flaw {
    FLAW_NONE,
    FLAW_NAME,    /* device name: a DNS label of at most 63 characters (RFC 1123) */
    FLAW_KEY,     /* attribute key: C identifier of at most 32, or a DNS subdomain, '/', the same */
    FLAW_LENGTH,  /* text: at most 64 bytes */
    FLAW_UTF8,    /* text: valid UTF-8 */
    FLAW_VERSION, /* version: three numbers and so on, as Semantic Versioning 2.0.0 has it */
    FLAWS
};

/* The reason in words, for a log line. Static text; never NULL. */
const char *flaw_text(enum flaw flaw);
/* The first flaw of an attribute, or FLAW_NONE. Its texts may lack their NUL. */
enum flaw attribute_flaw(const struct attribute *attribute);
/* The first flaw of a device itself, or FLAW_NONE; its attributes are not looked at. */
enum flaw device_flaw(const struct device *device);

#endif
