/* SPDX-License-Identifier: Apache-2.0 */
/* Names by which clusters identify the agent. Each is part of the contract with users. */
#ifndef CFG_IDENTITY_H
#define CFG_IDENTITY_H

#define AGENT_NAME "neuron-dra-agent"
#define AGENT_VERSION "1.0.0" /* semver: published as draDriverVersion (a DRA `version`) */
/* name of the DRA driver and the DeviceClass, and vendor of CDI devices */
#define DRIVER_NAME "neuron.aws.com"
/*
 * Default name of the driver for EFA devices, which the DeviceClass efa.networking.k8s.aws of AWS's
 * aws-dranet chart selects; the attributes keep this domain whatever --efa-driver-name says.
 */
#define EFA_DRIVER_NAME "dra.net"
#define EFA_DEVICE_PREFIX "pci-" /* prefix of the names of EFA devices, in dranet's form */
#define CDI_CLASS "claim"        /* CDI kind is DRIVER_NAME "/" CDI_CLASS */
#define CDI_KIND DRIVER_NAME "/" CDI_CLASS
/* the lowest CDI version with annotations; containerd 1.7 and CRI-O 1.31 read versions up to 0.8 */
#define CDI_VERSION "0.6.0"
#define CDI_FILE_PREFIX "neuron.aws.com-claim_"
/* The EFA driver's CDI files have a fixed vendor, whatever --efa-driver-name says. */
#define EFA_CDI_KIND "efa.networking.k8s.aws/" CDI_CLASS
#define EFA_CDI_FILE_PREFIX "efa.networking.k8s.aws-claim_"
#define CDI_FILE_SUFFIX ".json"
/*
 * Suffix of the CDI file of a claim that was unprepared although its record in the claim store
 * could not be freed. Container runtimes ignore the file: they read only .json and .yaml.
 */
#define CDI_TOMBSTONE_SUFFIX ".gone"
/*
 * Device metadata files lie beside the CDI files that mount them. Their names have no suffix and
 * another prefix, so that a listing of CDI files does not match them.
 */
#define METADATA_FILE_PREFIX "neuron.aws.com-metadata_"
#define EFA_METADATA_FILE_PREFIX "efa.networking.k8s.aws-metadata_"
/* Directory of device metadata files in containers, as KEP-5304 prescribes it. */
#define METADATA_CONTAINER_DIR "/var/run/kubernetes.io/dra-device-attributes"
#define METADATA_FILE_SUFFIX "-metadata.json"
#define METADATA_API_GROUP "metadata.resource.k8s.io"
/* annotation of a claim made from a template: the claim's name in the pod's specification */
#define POD_CLAIM_ANNOTATION "resource.kubernetes.io/pod-claim-name"
#define DEVICE_NAME_PREFIX "neuron-device-"
/* name of the device that stands for all devices of an UltraServer node */
#define NODE_DEVICE_NAME "neuron-node"
/* name of the set of the node's shared counters; each counter has the name of a device */
#define COUNTER_SET_NAME "devices"
#define COUNTER_VALUE "1"        /* value of each counter: one device */
#define SHARES_CAPACITY "shares" /* name of the capacity of a shared EFA device */
#define CORES_CAPACITY "cores"   /* name of the capacity of a shared Neuron device */
#define CONFIG_API_GROUP DRIVER_NAME
#define STORE_FILE_NAME "claims.store"
/*
 * The agent that uses the claim store locks this file. It is never removed, whereas the store file
 * may be replaced.
 */
#define STORE_LOCK_NAME STORE_FILE_NAME ".lock"
#define SERVICE_SOCKET_STEM "dra" /* start of its file name; with --pod-uid, "-<pod UID>" follows */
#define SERVICE_SOCKET_SUFFIX ".sock"
#define REGISTRATION_SOCKET_SUFFIX "-reg.sock"

#endif
