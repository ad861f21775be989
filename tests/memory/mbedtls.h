/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mbedTLS for the build with the memory sanitizer, behind cfg/mbedtls/mbedtls_config.h: what
 * assembly writes the sanitizer does not see, so the C code is taken in its place.
 */
#ifndef TESTS_MEMORY_MBEDTLS_H
#define TESTS_MEMORY_MBEDTLS_H

#undef MBEDTLS_HAVE_ASM
#undef MBEDTLS_AESNI_C

#endif
