/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opaque configurations: NeuronConfig and UltraServerConfig, decoded strictly. Owns the two kinds,
 * their fields and the error texts that users see in pod events; knows no claim, and of the
 * hardware only the LNC values of a node and its UltraServer. Source of kinds and texts: AWS Neuron
 * DRA documentation; wording of decoding errors: the Kubernetes serializer (apimachinery,
 * sigs.k8s.io/json).
 *
 * Invariants:
 * I1 On failure *out is unchanged.
 * I2 The reason is one line of printable ASCII; together with the texts that claim_config_add puts
 *    before and after it, it fits in CLAIM_ERROR_CAP.
 * I3 config_decode accepts only a JSON object of apiVersion, kind and the kind's field, each once,
 *    with known values, and no other member.
 * I4 config_check fails only with PEER_UNSUPPORTED, and with a reason.
 */
#ifndef DRA_CONFIG_H
#define DRA_CONFIG_H

#include "base/bytes.h"
#include "cfg/limits.h"
#include "dra/ultraserver.h"

/* The two kinds of opaque configuration. */
enum config_kind { CONFIG_NEURON, CONFIG_ULTRASERVER };

/* One decoded configuration. */
struct config {
    enum config_kind kind;
    const char *api_version; /* apiVersion of the configuration; static text */
    /* NeuronConfig: logicalNeuronCore; UltraServerConfig: ultraserverMode, a number of nodes */
    uint8_t value;
};

/*
 * Decodes one configuration (JSON object). On failure (PEER_MALFORMED or PEER_UNSUPPORTED) `why`
 * gets one printable line and `out` is unchanged:
 *   the text is not JSON, is not an object, or is nested too deeply;
 *   `Object 'Kind' is missing…`, `Object 'apiVersion' is missing…`, `no kind "X" is registered for
 *   version "g/v"…`, each followed by the known kinds and versions;
 *   `field "x": expected integer, found string`;
 *   `strict decoding error: unknown field "x", duplicate field "y"; known fields: …`, with at most
 *   CONFIG_STRICT_ERRORS_MAX errors;
 *   `logicalNeuronCore: Unsupported value: 3; supported values: 1, 2`, or `Required value`.
 * apiVersions: neuron.aws.com/v1, neuron.aws.com/v1alphav1, resource.neuron.aws.com/v1alphav1. As
 * in Go, null counts as absent, and if apiVersion or kind occurs twice, the last value selects the
 * kind; only then is the duplicate reported.
 */
MUST_USE enum status config_decode(struct view json, struct config *out, struct writer *why);

/*
 * Checks a decoded configuration against the node. Bit n of `lnc_allowed`: a claim may ask for LNC
 * n. PEER_UNSUPPORTED, with one line in `why`:
 * - the configuration asks for an LNC, but the instance type has none: "LNC value is not
 *   configurable for instance type <type>", the text of AWS's driver, and then the remedy;
 * - the configuration asks for an LNC that the instance type does not have;
 * - ultraserver_mode refuses the UltraServerConfig.
 */
MUST_USE enum status config_check(const struct config *c, unsigned lnc_allowed,
                                  const struct ultraserver *ultraserver, const char *instance_type,
                                  struct writer *why);

#endif
