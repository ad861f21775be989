/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of /etc/hosts and /etc/resolv.conf, and host names, given to the resolver in place of
 * the files: the name, then both texts, each behind its length in two bytes. Checks I1 to I3 of
 * host/apiserver/resolver.h. The words of a line are read a second time by strtok_r(3).
 *
 * Input: a host name, /etc/hosts and /etc/resolv.conf
 */
#include <arpa/inet.h>
#include <strings.h>

#include "host/apiserver/resolver.h"
#include "host/sockets.h"
#include "host/system.h"
#include "tests/fuzz/fuzz.h"

static struct view hosts;
static struct view servers;

/* --- in place of src/host --- */

enum status file_read_start(const char *path, struct writer *out, int *error)
{
    bool is_hosts = strcmp(path, "/etc/hosts") == 0;
    struct view text = is_hosts ? hosts : servers;
    *error = 0;
    if (text.data == NULL) {
        return HOST_ABSENT;
    }
    writer_append(out, view_first(text, writer_room(out)));
    return STATUS_OK;
}

uint64_t random_seed(void)
{
    return 1;
}

enum status errno_status(int error)
{
    (void)error;
    return HOST_IO;
}

int address_connect(int fd, const struct ip_address *address, uint16_t port)
{
    (void)fd;
    CHECK(address != NULL && port == 53u);
    return -1;
}

/* --- second opinion --- */

static bool parse(const char *text, struct ip_address *a)
{
    memset(a, 0, sizeof *a);
    if (inet_pton(AF_INET, text, a->bytes) == 1) {
        return true;
    }
    a->v6 = inet_pton(AF_INET6, text, a->bytes) == 1;
    return a->v6;
}

/* Whether a line of hosts names `name`; *a gets its address. */
static bool line_names(char *line, const char *name, struct ip_address *a)
{
    static const char blanks[] = " \t\r";
    char *state = NULL;
    line[strcspn(line, "#")] = '\0';
    const char *word = strtok_r(line, blanks, &state);
    if (word == NULL || !parse(word, a)) {
        return false;
    }
    for (word = strtok_r(NULL, blanks, &state); word != NULL;
         word = strtok_r(NULL, blanks, &state)) {
        if (strcasecmp(word, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Texts with NUL or a lone CR are nobody's: they are only run. */
static bool is_plain(struct view text)
{
    for (size_t i = 0; i < text.len; i++) {
        bool cr = text.data[i] == '\r' && (i + 1u == text.len || text.data[i + 1u] != '\n');
        if (text.data[i] == 0u || cr) {
            return false;
        }
    }
    return text.len < RESOLVER_FILE_BYTES_MAX;
}

static void compare(const struct resolver *r)
{
    static char text[RESOLVER_FILE_BYTES_MAX + 1u];
    unsigned count = 0;
    char *state = NULL;
    if (!is_plain(hosts)) {
        return;
    }
    text_cut(text, sizeof text, hosts);
    for (char *line = strtok_r(text, "\n", &state); line != NULL;
         line = strtok_r(NULL, "\n", &state)) {
        struct ip_address a;
        if (line_names(line, r->name, &a) && count < API_ADDRESSES_MAX) {
            CHECK(count < r->found.count); /* I2 */
            CHECK(memcmp(&r->found.address[count], &a, sizeof a) == 0);
            count++;
        }
    }
    bool local = count == 0u && strcasecmp(r->name, "localhost") == 0;
    CHECK(r->found.count == count + (local ? 1u : 0u));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct resolver r;
    struct fuzz in = fuzz_of(data, size);
    struct view name = fuzz_text(&in);
    struct ip_address literal;
    char text[API_HOST_CAP];
    hosts = fuzz_bytes(&in, fuzz_u16(&in));
    servers = fuzz_rest(&in);
    memset(&r, 0x5a, sizeof r);
    r.fd = -1;
    enum status s = resolver_start(&r, name, 1000);
    CHECK(r.found.count <= API_ADDRESSES_MAX || s == PEER_MALFORMED);
    if (s == PEER_MALFORMED) {
        CHECK(r.fd == -1 && r.found.count == 0u);
    } else if (text_copy(text, sizeof text, name) == STATUS_OK && parse(text, &literal)) {
        CHECK(s == STATUS_OK && r.found.count == 1u); /* I1 */
        CHECK(memcmp(&r.found.address[0], &literal, sizeof literal) == 0);
    } else {
        CHECK((s == STATUS_OK) == (r.found.count > 0u));
        CHECK(s != STATUS_MORE || (r.servers >= 1u && r.servers <= NAMESERVERS_MAX)); /* I3 */
        compare(&r);
    }
    resolver_end(&r);
    return 0;
}
