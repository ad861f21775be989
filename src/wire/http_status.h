/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP status codes (RFC 9110 §15) that the agent sends as a server or handles as a client. Owns no
 * state.
 */
#ifndef WIRE_HTTP_STATUS_H
#define WIRE_HTTP_STATUS_H

#include <stdbool.h>

/* HTTP status codes in ascending order. */
#define HTTP_OK 200u
#define HTTP_NO_CONTENT 204u
#define HTTP_OK_LAST 299u /* last code of the class 2xx, success */
#define HTTP_NOT_MODIFIED 304u
#define HTTP_UNAUTHORIZED 401u
#define HTTP_FORBIDDEN 403u
#define HTTP_NOT_FOUND 404u
#define HTTP_METHOD_NOT_ALLOWED 405u
#define HTTP_CONFLICT 409u
#define HTTP_GONE 410u
#define HTTP_CONTENT_TOO_LARGE 413u
#define HTTP_UNSUPPORTED_MEDIA_TYPE 415u
#define HTTP_UNPROCESSABLE_CONTENT 422u
#define HTTP_TOO_MANY_REQUESTS 429u
#define HTTP_SERVER_ERROR_FIRST 500u /* first code of the class 5xx, server error */
#define HTTP_SERVICE_UNAVAILABLE 503u

/* Whether `status` is of the class 2xx, success. */
static inline bool http_is_success(unsigned status)
{
    return status >= HTTP_OK && status <= HTTP_OK_LAST;
}

#endif
