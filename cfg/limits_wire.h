/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of the protocols, in the same form as cfg/limits.h, which includes this file. Owns
 * numbers only.
 */
#ifndef CFG_LIMITS_WIRE_H
#define CFG_LIMITS_WIRE_H

/* ---- JSON ---- */
/*
 * Open containers in a JSON text: opaque configurations are flat; 16 allows skipping nested unknown
 * members. Deeper: the claim is refused with the reason.
 */
#define JSON_DEPTH_MAX 16u

/* ---- HTTP/2 (RFC 9113) and HPACK (RFC 7541) ---- */
/*
 * Dynamic table of the decoder of a server connection: the protocol's default (RFC 9113 §6.5.2);
 * clients may use it before our SETTINGS arrive. Full: the oldest entries are evicted, RFC 7541
 * §4.4.
 */
#define HPACK_TABLE_BYTES 4096u
/*
 * Entries in the decoder's dynamic table: each counts at least 32 bytes (RFC 7541 §4.1). Never
 * reached: HPACK_TABLE_BYTES is full first.
 */
#define HPACK_ENTRIES_MAX 128u
/*
 * Largest integer that the HPACK decoder accepts: every valid length is smaller. Larger:
 * COMPRESSION_ERROR.
 */
#define HPACK_INTEGER_MAX 1048576u
/*
 * One header field of a server connection, encoded and decoded (kubelet paths are under 300 bytes).
 * Longer: the connection ends with ENHANCE_YOUR_CALM. So this is also the header list size that the
 * server announces (RFC 9113 §6.5.2): within it a client cannot send such a field.
 */
#define H2_SERVER_FIELD_BYTES 4096u
/*
 * One header field of the API connection, encoded and decoded, and the header list size that it
 * announces, as for H2_SERVER_FIELD_BYTES: 30 warnings of 1 KiB each are 30 separate fields, so
 * each field is shorter than this. Longer: ENHANCE_YOUR_CALM.
 */
#define H2_CLIENT_FIELD_BYTES 8192u
/*
 * Largest header list that a server connection accepts, in decoded bytes (RFC 9113 §6.5.2 adds 32
 * for each field): four of the longest fields. The server announces less (H2_SERVER_FIELD_BYTES),
 * but not every client looks at that. Lists are not stored, so this bounds work only. Longer:
 * RST_STREAM with ENHANCE_YOUR_CALM.
 */
#define H2_HEADER_LIST_MAX 16384u
/*
 * Largest header list that the API connection accepts, like H2_HEADER_LIST_MAX: 30 warnings of
 * 1 KiB each, which Go's server sends as HEADERS and CONTINUATION because they exceed one frame,
 * whatever size the client announces. Longer: RST_STREAM with ENHANCE_YOUR_CALM.
 */
#define H2_CLIENT_LIST_MAX 32768u
/*
 * Decoded bytes of one header list after which the connection ends. Between H2_HEADER_LIST_MAX and
 * this limit the request is refused, and decoding continues to keep the dynamic table in step.
 */
#define H2_HEADER_LIST_HARD_MAX 65536u
/* CONTINUATION frames of one header block (CVE-2024-24549 and similar). More: ENHANCE_YOUR_CALM. */
#define H2_CONTINUATIONS_MAX 8u
/* Entries of one SETTINGS frame (CVE-2020-11080). More: ENHANCE_YOUR_CALM. */
#define H2_SETTINGS_MAX 32u
/*
 * Largest frame that we accept: the protocol's minimum and default (RFC 9113 §4.2). Longer:
 * FRAME_SIZE_ERROR.
 */
#define H2_FRAME_MAX 16384u
/*
 * Receive buffer of a server connection: control frames, and one piece of a longer frame. Full: the
 * peer waits.
 */
#define H2_SERVER_RX_BYTES 4096u
/*
 * Send buffer of a server connection: a claim's entry is sent in pieces. Full: the rest waits for
 * room, and reading from the peer stops.
 */
#define H2_SERVER_TX_BYTES 8192u
/*
 * Receive buffer of the API connection: one TLS record of 16 KiB. Full: the server waits.
 */
#define H2_CLIENT_RX_BYTES 16640u
/*
 * Send buffer of the API connection: request headers with a token of 4 KiB and a piece of a body.
 * Full: the request or the rest of its body waits.
 */
#define H2_CLIENT_TX_BYTES 16384u
/*
 * Streams of one server connection (SETTINGS_MAX_CONCURRENT_STREAMS). Further ones: REFUSED_STREAM.
 */
#define H2_SERVER_STREAMS 16u
/*
 * Streams that stay free for unprepares while prepares hang: a kubelet ends pods one by one. More:
 * unprepares that arrive at the same time wait a few milliseconds for each other.
 */
#define UNPREPARE_STREAMS 4u
/*
 * Prepares of one connection that may run longer than PREPARE_STALL_MS: one for each stream that is
 * not reserved for unprepares and watches. PREPARE_STALL_MS is ten times as long as a GET from a
 * busy API server takes. More: the newest prepares end with UNAVAILABLE, and the kubelet repeats
 * them.
 */
#define WATCHES_PER_LINK (GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK + DEVICE_STREAMS_PER_LINK)
#define PREPARES_STALLED_MAX (H2_SERVER_STREAMS - UNPREPARE_STREAMS - WATCHES_PER_LINK)
#define PREPARE_STALL_MS 1000u
/*
 * Streams of the API connection: each of the two drivers needs 8 claim GETs, 2 watches, a GET of
 * the Node, a list and a write; the others are spare. Reached: the request waits.
 */
#define H2_CLIENT_STREAMS 32u
/*
 * Window that we announce for each stream of a server connection. Used up: the peer waits for
 * WINDOW_UPDATE; if it sends more, FLOW_CONTROL_ERROR.
 */
#define H2_SERVER_WINDOW 32768u
/*
 * Window of each stream of the API connection: a claim of 1.4 MB needs 6 round trips; at 100 ms
 * each, most of CLAIM_GET_MS is left. The window costs no memory: octets are processed as they
 * arrive, and unread ones wait in the socket. Used up: the server waits for WINDOW_UPDATE; if it
 * sends more, FLOW_CONTROL_ERROR.
 */
#define H2_CLIENT_WINDOW 262144u
/*
 * Window of the API connection: 4 streams that are read at the same time do not wait for each
 * other. Used up: as for H2_CLIENT_WINDOW.
 */
#define H2_CLIENT_CONNECTION_WINDOW 1048576u
/*
 * Abuse credit of a connection (RFC 9113 §10.5): each cheap frame without content costs one, each
 * completed request refunds one. Used up: the connection ends with ENHANCE_YOUR_CALM.
 */
#define H2_CREDIT_MAX 256u
/*
 * Smallest charge for a late DATA frame: a frame that arrives after we reset its stream. The charge
 * reduces the window that the stream had at the reset; servers send frames of a few KiB. 32 smaller
 * frames use up a window of 64 KiB; after that each late frame costs one credit.
 */
#define H2_LATE_FRAME_BYTES 2048u
/* Credit that returns each second; a well-behaved peer never uses it up. */
#define H2_CREDIT_PER_SECOND 10u
/*
 * Credit that each of our HEADERS or DATA frames refunds: grpc-go answers one DATA with two
 * WINDOW_UPDATEs and a PING. Frames beyond that are charged against H2_CREDIT_MAX.
 */
#define H2_REFUND_PER_FRAME 3u
/*
 * Ended streams that are remembered, to distinguish late frames from frames that break the protocol
 * (RFC 9113 §5.1, "closed"). Frames of streams that ended earlier count as late.
 */
#define H2_CLOSED_MEMORY 32u
/*
 * 1xx header lists of one response (RFC 9110 §15.2); servers send one or two. More: the stream is
 * reset with ENHANCE_YOUR_CALM.
 */
#define H2_INFORMATIONAL_MAX 8u
/*
 * Dynamic table size updates of one header block: RFC 7541 §4.2 never needs more than two. More:
 * COMPRESSION_ERROR.
 */
#define HPACK_SIZE_UPDATES_MAX 2u
/*
 * Room in the send buffer that header blocks and DATA leave free for acknowledgements,
 * WINDOW_UPDATE, RST_STREAM and GOAWAY; each takes 9 to 17 bytes. Less free: header blocks and DATA
 * wait.
 */
#define H2_TX_RESERVE 128u
/*
 * Smallest buffers with which a connection works: the receive buffer holds the largest SETTINGS
 * frame; the send buffer holds H2_TX_RESERVE, our SETTINGS and a short header block.
 */
#define H2_RX_BYTES_MIN 256u
#define H2_TX_BYTES_MIN 512u
/* Milliseconds within which the peer's preface and SETTINGS must arrive. */
#define H2_PREFACE_MS 5000u
/* Milliseconds for which a header block may stay open. */
#define H2_HEADER_BLOCK_MS 5000u
/* Milliseconds for which pending output may make no progress. */
#define H2_STALL_MS 30000u

/* ---- gRPC ---- */
/*
 * Path of a method with NUL:
 * "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources" is 72. Longer:
 * UNIMPLEMENTED.
 */
#define GRPC_PATH_CAP 96u
/*
 * Message that fits in the memory of the call itself: registration and health messages. Longer: the
 * message uses one of GRPC_BUFFERS.
 */
#define GRPC_SMALL_BYTES 256u
/* Request message: 64 claims of at most 370 bytes. Longer: RESOURCE_EXHAUSTED. */
#define GRPC_MESSAGE_BYTES_MAX 24576u
/*
 * Buffers for messages over GRPC_SMALL_BYTES, each held only while a message arrives: one for each
 * connection that shares them (GRPC_SHARES), and further ones for the messages that a kubelet sends
 * in parallel. None free: UNAVAILABLE.
 */
#define GRPC_BUFFERS 12u
/*
 * Milliseconds within which a request must be complete: an incomplete one holds a buffer. Longer:
 * DEADLINE_EXCEEDED.
 */
#define GRPC_ARRIVAL_MS 10000u
/*
 * A connection whose request takes longer than this to arrive may be closed to make room for
 * another one: a kubelet sends a request without pauses.
 */
#define GRPC_SLOW_MS 1000u
/*
 * Milliseconds within which the peer must receive a whole response, however small its window: the
 * kubelet waits 45 s for a call. Longer: DEADLINE_EXCEEDED.
 */
#define GRPC_REPLY_MS 30000u
/* Status message with NUL. Longer texts are cut. */
#define GRPC_STATUS_TEXT_CAP 512u
/* Status text that a client keeps of a response: one line for an operator. Longer texts are cut. */
#define GRPC_CLIENT_TEXT_CAP 256u

/*
 * Small responses (PluginInfo with a socket path of 107 bytes is the longest) that wait for a
 * peer's window: the kubelet makes one call at a time, a probe makes two. Full: a further call
 * whose response would wait ends with RESOURCE_EXHAUSTED or, if the peer does not read either, the
 * connection ends.
 */
#define RESPONSES_PER_LINK 4u
#define RESPONSE_BYTES_MAX 256u

/* ---- HTTP/1.1 (RFC 9112) ---- */
/*
 * A request line, and the part of a field line that is kept: the paths of the pages have fewer than
 * ten characters, and the fields that the agent reads fewer than a hundred. Longer request line:
 * 414. Longer field that the agent reads: 431; the rest of any other field line is ignored.
 */
#define HTTP1_LINE_BYTES_MAX 1024u
/*
 * Header section of one request: tokens of 4 KiB and cookies are not kept, so this bounds work
 * only. Longer: 431.
 */
#define HTTP1_FIELDS_BYTES_MAX 16384u
/* Path of a page with NUL; the longest has under ten characters. Longer: 404 Not Found. */
#define HTTP1_PATH_CAP 32u
/* Receive buffer of a connection. Full: the peer waits. */
#define HTTP1_RX_BYTES 1024u
/*
 * Send buffer of a connection: the longest line of the metrics text, or a response head. Full: the
 * rest of the response waits.
 */
#define HTTP1_TX_BYTES 2048u
/*
 * A request must be complete within this time from its first byte, or from the start of the
 * connection: Prometheus allows a scrape 10 s in all.
 */
#define HTTP1_REQUEST_MS 10000u
/*
 * A peer must receive the whole response within this time: a slow peer occupies one of few
 * connections.
 */
#define HTTP1_ANSWER_MS 10000u
/* A connection may be idle this long: scrapes come at least once a minute. */
#define HTTP1_IDLE_MS 120000u
/*
 * A connection without a complete request after this time may be closed to make room for a new one:
 * a client sends its request with the last packet of the TCP handshake. A connection that has sent
 * nothing does not replace another.
 */
#define HTTP1_GRACE_MS 40u
/*
 * A connection whose peer takes no byte of the response for this long may be closed to make room
 * for a new one: a lost packet is retransmitted within a quarter of this time.
 */
#define HTTP1_PAUSE_MS 1000u

/* ---- TLS ---- */
/*
 * Arena of one TLS session, rebuilt for each: an RSA-4096 chain of three with a client certificate
 * needs 63 KB at its peak, 41 to 54 KB are usual (EC, RSA-2048, RSA-3072). The certificates of the
 * authorities are stored elsewhere. More: the connection fails with this reason.
 */
#define TLS_ARENA_BYTES 73728u
/*
 * Bytes read from the socket before mbedTLS asks for them. mbedTLS asks for the header of a record
 * and then for the rest; with this buffer one read gets a whole response to a claim GET. Longer:
 * the rest of the record is read into the buffer of mbedTLS.
 */
#define TLS_AHEAD_BYTES 4096u
/*
 * Reads from the socket in one call of mbedTLS, which otherwise continues as long as empty records
 * arrive: a record needs two. More: the rest is read in the next turn.
 */
#define TLS_RECEIVES_PER_CALL 64u
/*
 * Steps of mbedTLS's handshake in one call; a whole handshake has about twenty. Reached: the rest
 * follows in the next turn.
 */
#define TLS_STEPS_PER_CALL 32u
/*
 * A ServerHello or HelloRetryRequest with its header: one of P-521 takes 230 bytes, the rest is for
 * a cookie. Longer: the connection fails.
 */
#define TLS_HELLO_BYTES_MAX 1024u
/*
 * Name of the server with NUL: a DNS name has at most 253 characters. Longer: the connection fails
 * with this reason.
 */
#define TLS_NAME_CAP 256u
/*
 * Certificates that a server sends and that its chain may use: the longest message, 16 KiB, holds
 * 40 small certificates, and public chains have three or four. More: the further certificates are
 * read, but not used.
 */
#define X509_SENT_MAX 32u
/*
 * Possible issuers that are tried for one server, each of which costs at most one signature check;
 * an honest server needs two or three. A check of P-521 takes 4 ms of one core, so all of them take
 * 5 s with the 2 % of a core that the chart grants, within the 10 s of a handshake; Go tries 100.
 * Reached, for instance by a bundle with more CAs of the same name and without key identifiers: the
 * server is not trusted.
 */
#define X509_CANDIDATES_MAX 24u
/*
 * Extensions of a certificate, or policies in one: usual certificates have ten and two. More: the
 * certificate counts as unreadable.
 */
#define X509_LIST_MAX 64u
/*
 * Comparisons of a name with a name constraint for one chain: enough for a thousand names and a
 * hundred constraints. Reached: the server is not trusted.
 */
#define X509_COMPARISONS_MAX 250000u
/*
 * Text that describes what is wrong with a server's certificate, with NUL: two names of 63 bytes.
 * Longer: cut.
 */
#define X509_TEXT_CAP 512u

/* ---- names in requests ---- */
/*
 * Node name with NUL in the field manager of claim status. A field manager has at most 128 bytes
 * and consists of the driver's name, the node name and a checksum. Longer: the node name is cut
 * before the checksum.
 */
#define MANAGER_NODE_CAP 105u

/* ---- kubeconfig ---- */
/* Kubeconfig file: several contexts with inline certificates. Larger: refused with the reason. */
#define KUBECONFIG_BYTES_MAX 65536u
/*
 * PEM of the client's certificate with its chain, or of its key, with NUL: RSA-4096 takes 3 KB.
 * Longer: refused with the reason.
 */
#define PEM_BYTES_MAX 32768u
/*
 * PEM of the authorities with NUL: a whole store of a distribution takes 220 KB. Longer: refused
 * with the reason. In a kubeconfig KUBECONFIG_BYTES_MAX is the limit.
 */
#define CA_BYTES_MAX 262144u
/*
 * Open mappings and sequences that the YAML reader tracks. A kubeconfig has four levels of known
 * keys; other keys are skipped with everything below them, at any depth. Deeper in keys that are
 * not skipped: refused with the reason.
 */
#define YAML_DEPTH_MAX 8u
/*
 * Name of a context, cluster or user in a kubeconfig: cloud tools write names of resources, up to
 * 160 characters. Longer: refused with the reason.
 */
#define KUBECONFIG_NAME_BYTES_MAX 512u
/*
 * File system path with NUL (Linux PATH_MAX is 4096; the agent's paths are short). Longer: refused
 * with the reason.
 */
#define PATH_CAP 512u
/* Unix socket path with NUL: sockaddr_un.sun_path (unix(7)). Longer: refused with the reason. */
#define SOCKET_PATH_CAP 108u

/* ---- name resolution ---- */
/* Bytes read of /etc/hosts and of /etc/resolv.conf. Longer: the rest is ignored. */
#define RESOLVER_FILE_BYTES_MAX 8192u
/* Name servers that are asked (resolv.conf(5): three). More: ignored. */
#define NAMESERVERS_MAX 3u
/*
 * How long the agent waits for one name server before it asks the next one, and how many questions
 * it sends in all. Reached: the attempt fails with PEER_TIMEOUT.
 */
#define DNS_TRY_MS 1500u
#define DNS_TRIES_MAX 6u
/*
 * DNS message over UDP (RFC 1035 §4.2.1). Longer responses arrive truncated, and their complete
 * part is used.
 */
#define DNS_MESSAGE_MAX 512u

#endif
