/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tools/build/generate.py from tools/build/hpack_tables.json: edit that, then run 'make generate'. */
#include "generated/hpack_static.h"

const char hpack_static_texts[685] =
    ":authority"
    ":methodGET"
    ":methodPOST"
    ":path/"
    ":path/index.html"
    ":schemehttp"
    ":schemehttps"
    ":status200"
    ":status204"
    ":status206"
    ":status304"
    ":status400"
    ":status404"
    ":status500"
    "accept-charset"
    "accept-encodinggzip, deflate"
    "accept-language"
    "accept-ranges"
    "accept"
    "access-control-allow-origin"
    "age"
    "allow"
    "authorization"
    "cache-control"
    "content-disposition"
    "content-encoding"
    "content-language"
    "content-length"
    "content-location"
    "content-range"
    "content-type"
    "cookie"
    "date"
    "etag"
    "expect"
    "expires"
    "from"
    "host"
    "if-match"
    "if-modified-since"
    "if-none-match"
    "if-range"
    "if-unmodified-since"
    "last-modified"
    "link"
    "location"
    "max-forwards"
    "proxy-authenticate"
    "proxy-authorization"
    "range"
    "referer"
    "refresh"
    "retry-after"
    "server"
    "set-cookie"
    "strict-transport-security"
    "transfer-encoding"
    "user-agent"
    "vary"
    "via"
    "www-authenticate";

const struct hpack_static_entry hpack_static_table[HPACK_STATIC_ENTRIES] = {
    {0, 10, 0}, /* 1 :authority */
    {10, 7, 3}, /* 2 :method */
    {20, 7, 4}, /* 3 :method */
    {31, 5, 1}, /* 4 :path */
    {37, 5, 11}, /* 5 :path */
    {53, 7, 4}, /* 6 :scheme */
    {64, 7, 5}, /* 7 :scheme */
    {76, 7, 3}, /* 8 :status */
    {86, 7, 3}, /* 9 :status */
    {96, 7, 3}, /* 10 :status */
    {106, 7, 3}, /* 11 :status */
    {116, 7, 3}, /* 12 :status */
    {126, 7, 3}, /* 13 :status */
    {136, 7, 3}, /* 14 :status */
    {146, 14, 0}, /* 15 accept-charset */
    {160, 15, 13}, /* 16 accept-encoding */
    {188, 15, 0}, /* 17 accept-language */
    {203, 13, 0}, /* 18 accept-ranges */
    {216, 6, 0}, /* 19 accept */
    {222, 27, 0}, /* 20 access-control-allow-origin */
    {249, 3, 0}, /* 21 age */
    {252, 5, 0}, /* 22 allow */
    {257, 13, 0}, /* 23 authorization */
    {270, 13, 0}, /* 24 cache-control */
    {283, 19, 0}, /* 25 content-disposition */
    {302, 16, 0}, /* 26 content-encoding */
    {318, 16, 0}, /* 27 content-language */
    {334, 14, 0}, /* 28 content-length */
    {348, 16, 0}, /* 29 content-location */
    {364, 13, 0}, /* 30 content-range */
    {377, 12, 0}, /* 31 content-type */
    {389, 6, 0}, /* 32 cookie */
    {395, 4, 0}, /* 33 date */
    {399, 4, 0}, /* 34 etag */
    {403, 6, 0}, /* 35 expect */
    {409, 7, 0}, /* 36 expires */
    {416, 4, 0}, /* 37 from */
    {420, 4, 0}, /* 38 host */
    {424, 8, 0}, /* 39 if-match */
    {432, 17, 0}, /* 40 if-modified-since */
    {449, 13, 0}, /* 41 if-none-match */
    {462, 8, 0}, /* 42 if-range */
    {470, 19, 0}, /* 43 if-unmodified-since */
    {489, 13, 0}, /* 44 last-modified */
    {502, 4, 0}, /* 45 link */
    {506, 8, 0}, /* 46 location */
    {514, 12, 0}, /* 47 max-forwards */
    {526, 18, 0}, /* 48 proxy-authenticate */
    {544, 19, 0}, /* 49 proxy-authorization */
    {563, 5, 0}, /* 50 range */
    {568, 7, 0}, /* 51 referer */
    {575, 7, 0}, /* 52 refresh */
    {582, 11, 0}, /* 53 retry-after */
    {593, 6, 0}, /* 54 server */
    {599, 10, 0}, /* 55 set-cookie */
    {609, 25, 0}, /* 56 strict-transport-security */
    {634, 17, 0}, /* 57 transfer-encoding */
    {651, 10, 0}, /* 58 user-agent */
    {661, 4, 0}, /* 59 vary */
    {665, 3, 0}, /* 60 via */
    {668, 16, 0}, /* 61 www-authenticate */
};
