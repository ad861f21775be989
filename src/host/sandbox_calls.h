/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All system calls that the agent and its readers make after their start; in the sandbox every
 * other call fails with EPERM (sandbox.h). The arm64 kernel has no poll, unlink, mkdir and
 * readlink: ppoll, unlinkat, mkdirat and readlinkat replace them there. tools/docs/docs.py
 * generates the tables of CATALOGUE.md from these lists.
 */
#ifndef HOST_SANDBOX_CALLS_H
#define HOST_SANDBOX_CALLS_H

/*
 * The agent's calls. Expands X(number, purpose) for every row; `number` is a SYS_ constant of
 * sys/syscall.h.
 */
#define SANDBOX_CALLS(X)                                                                           \
    /* system calls for waiting and time */                                                        \
    X(SYS_poll, "waits for descriptors and for the next time limit")                               \
    X(SYS_restart_syscall, "lets the kernel continue a poll after SIGSTOP and SIGCONT")            \
    X(SYS_clock_gettime, "reads the clocks, where the vDSO cannot")                                \
    X(SYS_exit_group, "ends the process")                                                          \
    /* system calls for sockets */                                                                 \
    X(SYS_socket, "makes server sockets, and the sockets that connect(2) connects")                \
    X(SYS_bind, "gives server sockets their paths and ports")                                      \
    X(SYS_umask, "gives server sockets their mode")                                                \
    X(SYS_listen, "opens server sockets")                                                          \
    X(SYS_accept4, "takes the kubelet's, probes' and scrapers' connections")                       \
    X(SYS_connect,                                                                                 \
      "connects to the API server, to name servers and to the kubelet's list of pods; asks "       \
      "whether a socket is stale")                                                                 \
    X(SYS_getsockname, "reads which port the kernel chose")                                        \
    X(SYS_getsockopt, "reads who the peer is, and why a connection failed")                        \
    X(SYS_setsockopt, "sets TCP options")                                                          \
    X(SYS_sendto, "sends to peers, the API server, name servers and the kubelet")                  \
    X(SYS_recvfrom, "reads whether an unknown peer of a TCP port has sent data")                   \
    X(SYS_shutdown, "ends the agent's side of a connection to a TCP port")                         \
    /* system calls for files */                                                                   \
    X(SYS_openat, "opens files and directories")                                                   \
    X(SYS_close, "closes descriptors")                                                             \
    X(SYS_newfstatat, "checks devices, sockets, the claim store and directories")                  \
    X(SYS_getdents64, "lists devices, CDI files and sockets")                                      \
    X(SYS_readlink, "reads behind which PCI root complex a device is")                             \
    X(SYS_read, "reads files, sockets and the signal descriptor")                                  \
    X(SYS_pread64, "reads the claim store and CDI files")                                          \
    X(SYS_write, "writes the log and new files")                                                   \
    X(SYS_pwrite64, "writes the claim store")                                                      \
    X(SYS_fdatasync, "makes the claim store durable")                                              \
    X(SYS_fsync, "makes names in a directory durable")                                             \
    X(SYS_fcntl, "locks bytes of the claim store's lock file")                                     \
    X(SYS_renameat2, "puts whole files in their place")                                            \
    X(SYS_unlink, "removes CDI files and sockets of its own")                                      \
    X(SYS_mkdir, "makes the plugin directory and the CDI root again")                              \
    /* randomness */                                                                               \
    X(SYS_getrandom, "seeds TLS")                                                                  \
    X(SYS_madvise, "gives memory back that the TLS handshake has used")

/*
 * The calls of a reader process, which only reads sysfs (host/node/reader.h); used like
 * SANDBOX_CALLS.
 */
#define READER_CALLS(X)                                                                            \
    X(SYS_poll, "waits for the agent and for errors of devices")                                   \
    X(SYS_restart_syscall, "lets the kernel continue a poll after SIGSTOP and SIGCONT")            \
    X(SYS_clock_gettime, "reads the clock, where the vDSO cannot")                                 \
    X(SYS_exit_group, "ends the process")                                                          \
    X(SYS_openat, "opens files and directories")                                                   \
    X(SYS_close, "closes files and directories")                                                   \
    X(SYS_newfstatat, "checks devices and their files")                                            \
    X(SYS_getdents64, "lists devices")                                                             \
    X(SYS_readlink, "reads behind which PCI root complex a device is")                             \
    X(SYS_read, "reads files, and what the agent asks")                                            \
    X(SYS_pread64, "reads files that stay open")                                                   \
    X(SYS_write, "answers the agent")

#endif
