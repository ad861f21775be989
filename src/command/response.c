/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a response of the agent's metrics port to an HTTP/1.0 request. Such a response is never
 * chunked, and its body ends when the connection closes (RFC 1945 section 7.2.2).
 */
#include "command/command.h"

#define STATUS_LINE "HTTP/1.1 "
#define CODE_DIGITS 3u

unsigned command_response(struct view response, struct view *body)
{
    uint64_t code = 0;
    *body = view_from(response, response.len);
    if (!view_starts(response, STATUS_LINE) ||
        view_decimal(view_first(view_from(response, sizeof STATUS_LINE - 1u), CODE_DIGITS), 999u,
                     &code) != STATUS_OK) {
        return 0;
    }
    for (size_t i = 0; i + 4u <= response.len; i++) {
        if (view_starts(view_from(response, i), "\r\n\r\n")) {
            *body = view_from(response, i + 4u);
            return (unsigned)code;
        }
    }
    return 0;
}
