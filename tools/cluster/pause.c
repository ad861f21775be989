/* SPDX-License-Identifier: Apache-2.0 */
/* The process that holds a pod's namespaces in the test cluster: it sleeps until told to stop, and
 * reaps what is handed to it as process 1. It never does anything else. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void stop(int number)
{
    (void)number;
    _exit(0);
}

static void reap(int number)
{
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

int main(void)
{
    (void)signal(SIGINT, stop);
    (void)signal(SIGTERM, stop);
    (void)signal(SIGCHLD, reap);
    for (;;) {
        (void)pause();
    }
}
