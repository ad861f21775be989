/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of reading sysfs, in the same form as cfg/limits.h, which includes this file. Owns
 * numbers only.
 */
#ifndef CFG_LIMITS_READ_H
#define CFG_LIMITS_READ_H

/*
 * Processes that read sysfs: one for probes, one for the memory of devices being prepared, and a
 * spare, so that both continue while one hangs. When two hang, the third does all the work. When
 * all hang, the health of every device is unknown, and a prepare that needs sysfs is refused.
 */
#define READERS 3u
/*
 * Time after which the read of a file counts as hanging, and its device as unhealthy. The kernel
 * module's slowest files ask the device's firmware, which takes milliseconds. A gap of more than
 * this between two looks of the agent starts the time again; the agent waits READ_HANG_MS -
 * READ_WAIT_MS at most between two looks at a running read.
 */
#define READ_HANG_MS 5000u
/*
 * How long a prepare waits for its device's memory to be read. An idle reader needs a fraction of a
 * millisecond, and a few tenths of a second when the pod has used up its CPU limit. Longer: the
 * claim is refused, and the kubelet retries.
 */
#define READ_WAIT_MS 1000u
/*
 * How long the agent stops all other work to wait for the class files of an UltraServer. Longer:
 * the agent uses the values of the last probe.
 */
#define READ_BRIEF_MS 50
/*
 * How long the agent waits for the first probe when it starts. Longer: the agent serves without
 * devices.
 */
#define READ_FIRST_MS 1000u
/* Path of a sysfs file as messages name it, with NUL. Longer: the beginning of the path is cut. */
#define READING_FILE_CAP 128u

#endif
