# SPDX-License-Identifier: Apache-2.0
# Compilers and flags of all builds, and the files in which flags are kept.

# The compiler that an outside fuzzing service names; only fuzz-targets reads it.
FUZZ_CC := $(if $(filter environment command,$(firstword $(origin CC))),$(CC),clang-19)
CC := gcc
AR := gcc-ar
OBJCOPY := objcopy
CLANG := clang-19
CLANGXX := clang++-19
# The build uses ccache for the objects of tests alone, and compiles those of an image or a release each time. The debug
# information of an object names the folder, so ccache finds it again only for a clone in the same folder, such as CI's.
# `make demo` does not install ccache and compiles without it.
CCACHE_PROGRAM := $(shell command -v ccache)
CCACHE = $(if $(CCACHE_PROGRAM),CCACHE_DIR=$(CACHE)/compiled CCACHE_MAXSIZE=2G $(CCACHE_PROGRAM))
ARCH := $(shell uname -m)
MUSL := /usr/lib/$(ARCH)-linux-musl
MUSL_CC := musl-gcc
# Where musl for another machine is unpacked: debug information has its paths as on a machine that has it installed.
MUSL_ROOT :=

INCLUDES = -Isrc -I. -isystem $(NANOPB_DIR) -isystem $(MBEDTLS_DIR)/include
DEFINES := -D_GNU_SOURCE -DPB_VALIDATE_UTF8 '-DMBEDTLS_CONFIG_FILE="cfg/mbedtls/mbedtls_config.h"'
WARNINGS := -Wall -Wextra -Wshadow -Wconversion
LANGUAGE := -std=gnu11

# -ffile-prefix-map: the same binary from any folder. The cache becomes an absolute path: the linker's optimiser rewrites a
# relative one for its own folder, and a library of the cache may come from another.
PREFIX_MAP = -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(CACHE)=/cache$(if $(MUSL_ROOT), -ffile-prefix-map=$(MUSL_ROOT)=)
# -fcf-protection and -mbranch-protection: functions that are called by a pointer begin with a landing pad; on arm64 return
# addresses are signed too. The linker marks a program for it only where all objects have it, and Debian's musl has not.
# A large frame is touched page by page, so that none skips the guard page below the stack.
HARDEN := -fPIE -fstack-protector-strong -fstack-clash-protection -ftrivial-auto-var-init=zero -fno-strict-aliasing \
	-fno-strict-overflow -fno-delete-null-pointer-checks
# Nothing unwinds the stack at run time; debuggers read .debug_frame.
HARDEN += -fno-asynchronous-unwind-tables -fno-unwind-tables
ifeq ($(ARCH),x86_64)
HARDEN += -fcf-protection=full
# AES-NI by intrinsics: mbedTLS asks the processor before it uses them.
MBEDTLS_ARCH_FLAGS := -maes -mpclmul
else
HARDEN += -mbranch-protection=standard
endif
# -O2 for all files would exceed the ceiling of cfg/budget.h: 850 KB. agent.mk names the files that are compiled for speed.
OPTIMISE := -Os
PRODUCT_FLAGS = $(LANGUAGE) $(OPTIMISE) -flto -ffunction-sections -fdata-sections -g $(HARDEN) $(PREFIX_MAP)
LINK_HARDEN := -Wl,-pie,--no-dynamic-linker,-z,text,-z,relro,-z,now,-z,noexecstack,-z,separate-code \
	-Wl,--gc-sections,--build-id=sha1,--fatal-warnings
SANITIZE_ALL := $(LANGUAGE) -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all
SANITIZE := $(SANITIZE_ALL) -fsanitize=address,undefined

# With the libraries that are not the pinned release: +mbedtls-3.6.6.
BUILD_ID := $(shell git describe --always --dirty --tags 2>/dev/null || echo unknown)$(UNPINNED)

# Key of a library built with the given compiler and flags: changes with source, configuration and both.
library_key = $(shell { cat $(MBEDTLS_DIR)/.sha256 $(wildcard cfg/mbedtls/*.h tests/memory/*.h) tools/build/build_mbedtls.sh; \
	echo '$(2)'; $(1) -v 2>&1; } | sha256sum | cut -c 1-16)

# Flags are kept in files: a change of flags or compiler compiles again. $(1) file, $(2) content
remember = @mkdir -p $(dir $(1)); printf '%s\n' '$(subst ','"'"',$(2))' >$(1).new; \
	if cmp -s $(1).new $(1); then rm $(1).new; else mv $(1).new $(1); fi

COMPILER := $(shell $(CC) --version 2>/dev/null | head -n 1)
