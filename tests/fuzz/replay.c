/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that only replays: each file named on the command line once, folders with all files in
 * them. For compilers without a fuzzing engine (gcc, valgrind) and for the coverage of the corpora.
 * Prints how many inputs were run.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REPLAY_PATH_BYTES = 4096 };

static unsigned long inputs;

static void fail(const char *path)
{
    fprintf(stderr, "replay: cannot read %s\n", path);
    exit(2);
}

static void run_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size + (size == 0u));
    if (file == NULL || data == NULL || fread(data, 1, size, file) != size) {
        fail(path);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    inputs++;
}

/* False: a folder. */
static int run_if_file(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        fail(path);
    }
    if (!S_ISREG(about.st_mode)) {
        return 0;
    }
    run_file(path, (size_t)about.st_size);
    return 1;
}

static void run_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        fail(path);
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char name[REPLAY_PATH_BYTES];
        int len = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (len > 0 && len < (int)sizeof name && entry->d_name[0] != '.') {
            run_if_file(name);
        }
    }
    closedir(folder);
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        if (!run_if_file(arguments[i])) {
            run_folder(arguments[i]);
        }
    }
    printf("replay: %lu inputs\n", inputs);
    return 0;
}
