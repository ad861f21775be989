# SPDX-License-Identifier: Apache-2.0
# The agent: build/neuron-dra-agent and its twin with symbols.

.PHONY: all
all: $(BUILD)/$(NAME)

PRODUCT := $(BUILD)/obj/product
PRODUCT_OBJECTS := $(SOURCES:%.c=$(PRODUCT)/%.o) $(NANOPB_NAMES:%=$(PRODUCT)/nanopb/%.o)
# mbedTLS initialises its locals before it reads them, as `make sanitize` shows under MSan; clearing them costs 3 KB.
MBEDTLS_PRODUCT_FLAGS = $(filter-out -ftrivial-auto-var-init=zero,$(PRODUCT_FLAGS)) $(MBEDTLS_ARCH_FLAGS)
# The prefix map is left out of the key: it names this folder and changes nothing in the result but /cache.
ifdef MBEDTLS_DIR
MBEDTLS_PRODUCT := $(CACHE)/lib/mbedtls-$(call library_key,$(CC),musl /cache $(filter-out $(PREFIX_MAP),$(MBEDTLS_PRODUCT_FLAGS))).a

# Precious, like the other archives of the cache: another build may have made it, and may be linking with it, when this
# one fails or is interrupted.
.PRECIOUS: $(MBEDTLS_PRODUCT)
$(MBEDTLS_PRODUCT):
	@tools/build/build_mbedtls.sh $@ $(MBEDTLS_DIR) $(JOBS) $(MUSL_CC) $(MBEDTLS_PRODUCT_FLAGS)
endif

$(BUILD)/$(NAME): $(BUILD)/$(NAME).debug
	$(Q)$(OBJCOPY) --strip-all $< $@
	@printf '%s: %s bytes\n' $@ "$$(stat -c %s $@)"

# Static and position-independent: musl's own driver cannot, so the start files are named here. The optimiser's
# record of frames and calls, $(PRODUCT)/lto/*.ci, is read by tools/gates/check_stack.py; it changes no code. With one
# partition the optimiser sees the whole program, which saves 2 KB.
$(BUILD)/$(NAME).debug: $(PRODUCT_OBJECTS) $(MBEDTLS_PRODUCT) $(PRODUCT)/flags cfg/sections.ld
	$(call show,LINK,$@)
	@rm -rf $(PRODUCT)/lto && mkdir -p $(PRODUCT)/lto
	$(Q)$(MUSL_CC) $(PRODUCT_FLAGS) -flto-partition=one -fcallgraph-info=su,da -dumpdir $(PRODUCT)/lto/ \
		-static -nostartfiles $(LINK_HARDEN) -o $@ \
		$(LINK_START) $(MUSL)/crti.o $(PRODUCT_OBJECTS) $(MBEDTLS_PRODUCT) $(MUSL)/crtn.o

# The code that every octet of a peer passes is compiled for speed; `make bench` shows HPACK and frames. The
# stages of h2.c run for every frame, which short DATA shows.
HOT := src/base/bytes.c src/wire/h2.c src/wire/hpack.c
SPEED := -O2 -fipa-sra -fcaller-saves -fif-conversion -ftree-pre -ftree-vrp
$(HOT:%.c=$(PRODUCT)/%.o): FOR_SPEED := $(SPEED)
$(PRODUCT)/src/start.o: EXTRA := -fno-lto -fno-stack-protector

$(PRODUCT)/%.o: %.c $(PRODUCT)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(PRODUCT_FLAGS) $(FOR_SPEED) $(WARNINGS) $(DEFINES) $(INCLUDES) $(EXTRA) -MMD -MP -c $< -o $@

# A folder of nanopb is one release for good, and its name is among the flags. Lists of its headers would only fail a
# build whose cache has moved.
$(PRODUCT)/nanopb/%.o: $(NANOPB_DIR)/%.c $(PRODUCT)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(PRODUCT_FLAGS) $(DEFINES) $(INCLUDES) -c $< -o $@

# Only what names BUILD_ID is compiled again when the commit changes.
BUILD_ID_OBJECTS := $(patsubst %.c,$(PRODUCT)/%.o,$(shell grep -lw BUILD_ID $(SOURCES) /dev/null))
$(BUILD_ID_OBJECTS): EXTRA = '-DBUILD_ID="$(BUILD_ID)"'
$(BUILD_ID_OBJECTS): $(BUILD)/obj/build-id

$(PRODUCT)/flags: FORCE
	$(call remember,$@,$(COMPILER) $(PRODUCT_FLAGS) $(HOT) $(WARNINGS) $(DEFINES) $(LINK_HARDEN) $(LINK_START) \
		$(INCLUDES) $(notdir $(MBEDTLS_PRODUCT)))

$(BUILD)/obj/build-id: FORCE
	$(call remember,$@,$(BUILD_ID))

DEPENDENCIES += $(PRODUCT_OBJECTS:.o=.d)
