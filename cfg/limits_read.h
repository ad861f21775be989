/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of reading sysfs, in the same form as cfg/limits.h, which includes this file. Owns
 * numbers only.
 */
#ifndef CFG_LIMITS_READ_H
#define CFG_LIMITS_READ_H

/*
 * Processes that read sysfs: one for the looks, one for the memory of devices that are prepared,
 * and one more, so that both go on while one hangs. When two hang, the third does the work of all.
 * When all do: the health of every device is unknown, and a prepare that needs sysfs is refused.
 */
#define READERS 3u
/*
 * A file that is not read after so long hangs: its device is unhealthy. The kernel module's slowest
 * files ask the device's firmware, which takes milliseconds.
 */
#define READ_HANG_MS 5000u
/*
 * A prepare waits so long for the memory of its device to be read. An idle reader takes a fraction
 * of a millisecond, and a few tenths of a second when the pod has used up its CPU limit. Longer:
 * the claim is refused, and the kubelet asks again.
 */
#define READ_WAIT_MS 1000u
/*
 * The class files of an UltraServer are waited for so long, by all that the agent does. Longer:
 * what the last look at the node has found counts.
 */
#define READ_BRIEF_MS 50
/* At a start the first look is waited for so long. Longer: the agent serves without devices. */
#define READ_FIRST_MS 1000u
/* Path of a file that is read, with NUL. Longer: cut at its begin. */
#define READING_FILE_CAP 128u

#endif
