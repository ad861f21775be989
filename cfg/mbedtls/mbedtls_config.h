/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of mbedTLS 3.6 that is built: a TLS 1.2 and 1.3 client that verifies certificates and
 * may present one of its own. src/host/apiserver/tls.c uses it, and defines the two functions that
 * mbedTLS requires: mbedtls_psa_external_get_random and mbedtls_platform_gmtime_r.
 *
 * Memory comes from one static arena (MBEDTLS_MEMORY_BUFFER_ALLOC_C). The gate `binary` proves that
 * no function of the heap is linked. No file, no socket, no session ticket, no server role.
 */
#ifndef CFG_MBEDTLS_CONFIG_H
#define CFG_MBEDTLS_CONFIG_H

/* --- platform --- */
#define MBEDTLS_HAVE_ASM
#define MBEDTLS_HAVE_TIME
#define MBEDTLS_HAVE_TIME_DATE /* makes mbedTLS check the validity period of certificates */
#define MBEDTLS_PLATFORM_C
#define MBEDTLS_PLATFORM_MEMORY
#define MBEDTLS_PLATFORM_NO_STD_FUNCTIONS
#define MBEDTLS_PLATFORM_GMTIME_R_ALT
#define MBEDTLS_MEMORY_BUFFER_ALLOC_C
#define MBEDTLS_MEMORY_ALIGN_MULTIPLE 16 /* the alignment that the C ABI requires of an allocator */
/* counts the bytes in use and their peak; its debug messages are discarded */
#define MBEDTLS_MEMORY_DEBUG
#define MBEDTLS_PLATFORM_FPRINTF_MACRO agent_no_output
#define agent_no_output(...) ((void)0)

/* mbedTLS calls snprintf only for texts that the agent does not use, so snprintf is not linked. */
#include <stdio.h>
#define MBEDTLS_PLATFORM_SNPRINTF_MACRO snprintf

/* --- randomness and PSA, which TLS 1.3 uses for its key schedule --- */
#define MBEDTLS_PSA_CRYPTO_C
#define MBEDTLS_PSA_CRYPTO_EXTERNAL_RNG
#define MBEDTLS_PSA_KEY_SLOT_COUNT 8

/* --- numbers and curves --- */
#define MBEDTLS_BIGNUM_C
#define MBEDTLS_MPI_MAX_SIZE 512 /* in bytes: enough for RSA-4096 */
#define MBEDTLS_ECP_C
#define MBEDTLS_ECDH_C
#define MBEDTLS_ECDSA_C
/* enabled only for certificates of authorities; no server authenticates with this curve */
#define MBEDTLS_ECP_DP_SECP224R1_ENABLED
#define MBEDTLS_ECP_DP_SECP256R1_ENABLED
#define MBEDTLS_ECP_DP_SECP384R1_ENABLED
#define MBEDTLS_ECP_DP_SECP521R1_ENABLED
#define MBEDTLS_ECP_DP_CURVE25519_ENABLED
#define MBEDTLS_ECP_NIST_OPTIM
/*
 * 0 leaves out the tables of multiples of the base points, 8 KB. Without them a handshake with
 * certificates on P-256 takes 6 ms of one core instead of 5 (compiled with the product's -Os).
 */
#define MBEDTLS_ECP_FIXED_POINT_OPTIM 0
#define MBEDTLS_RSA_C
#define MBEDTLS_PKCS1_V15
#define MBEDTLS_PKCS1_V21
#define MBEDTLS_X509_RSASSA_PSS_SUPPORT

/* --- ciphers and digests --- */
#define MBEDTLS_AES_C
/* smaller tables: large ones help only processors without AES instructions */
#define MBEDTLS_AES_FEWER_TABLES
/* Uses the processor's AES instructions where it has them: x86-64 (needs -maes -mpclmul), arm64. */
#define MBEDTLS_AESNI_C
#define MBEDTLS_AESCE_C
#define MBEDTLS_BLOCK_CIPHER_NO_DECRYPT
#define MBEDTLS_CIPHER_C
#define MBEDTLS_GCM_C
#define MBEDTLS_CHACHA20_C
#define MBEDTLS_POLY1305_C
#define MBEDTLS_CHACHAPOLY_C
#define MBEDTLS_MD_C
#define MBEDTLS_HKDF_C
#define MBEDTLS_SHA256_C
#define MBEDTLS_SHA384_C
#define MBEDTLS_SHA512_C
/* Hashes run only in handshakes, where their speed does not matter. */
#define MBEDTLS_SHA256_SMALLER
#define MBEDTLS_SHA512_SMALLER

/* --- certificates and keys --- */
#define MBEDTLS_ASN1_PARSE_C
#define MBEDTLS_ASN1_WRITE_C
#define MBEDTLS_OID_C
#define MBEDTLS_PK_C
#define MBEDTLS_PK_PARSE_C
#define MBEDTLS_X509_USE_C
#define MBEDTLS_X509_CRT_PARSE_C
#define MBEDTLS_X509_REMOVE_INFO /* removes the texts that describe certificates for people */

/* --- TLS --- */
#define MBEDTLS_SSL_TLS_C
#define MBEDTLS_SSL_CLI_C
#define MBEDTLS_SSL_PROTO_TLS1_2
#define MBEDTLS_KEY_EXCHANGE_ECDHE_RSA_ENABLED
#define MBEDTLS_KEY_EXCHANGE_ECDHE_ECDSA_ENABLED
#define MBEDTLS_SSL_EXTENDED_MASTER_SECRET
#define MBEDTLS_SSL_PROTO_TLS1_3
#define MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_EPHEMERAL_ENABLED
#define MBEDTLS_SSL_TLS1_3_COMPATIBILITY_MODE /* needed for middleboxes: RFC 8446 §D.4 */
#define MBEDTLS_SSL_KEEP_PEER_CERTIFICATE     /* TLS 1.3 requires this option */
#define MBEDTLS_SSL_ALPN
#define MBEDTLS_SSL_SERVER_NAME_INDICATION
#define MBEDTLS_SSL_IN_CONTENT_LEN 16384 /* the largest record (RFC 8446 §5.1) */
#define MBEDTLS_SSL_OUT_CONTENT_LEN 4096 /* enough for our handshake messages and for one write */

#endif
