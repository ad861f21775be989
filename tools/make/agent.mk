# SPDX-License-Identifier: Apache-2.0
# The agent: build/neuron-dra-agent and its twin with symbols.

.PHONY: all
all: $(BUILD)/$(NAME)

PRODUCT := $(BUILD)/obj/product
PRODUCT_OBJECTS := $(SOURCES:%.c=$(PRODUCT)/%.o) $(NANOPB_NAMES:%=$(PRODUCT)/nanopb/%.o)
MBEDTLS_PRODUCT_FLAGS = $(PRODUCT_FLAGS) $(MBEDTLS_ARCH_FLAGS)
# The prefix map is left out of the key: it names this folder and changes nothing in the result but /cache, and the paths of a
# musl that is unpacked elsewhere.
ifdef MBEDTLS_DIR
MBEDTLS_PRODUCT := $(CACHE)/lib/mbedtls-$(call library_key,$(CC),musl /cache$(if $(MUSL_ROOT), unpacked) $(filter-out $(PREFIX_MAP),$(MBEDTLS_PRODUCT_FLAGS))).a

# Precious, like the other archives of the cache: another build may have made it, and may be linking with it, when this
# one fails or is interrupted.
.PRECIOUS: $(MBEDTLS_PRODUCT)
$(MBEDTLS_PRODUCT):
	@tools/build/build_mbedtls.sh $@ $(MBEDTLS_DIR) $(JOBS) $(MUSL_CC) $(MBEDTLS_PRODUCT_FLAGS)
endif

$(BUILD)/$(NAME): $(BUILD)/$(NAME).debug
	$(Q)$(OBJCOPY) --strip-all $< $@
	@printf '%s: %s bytes\n' $@ "$$(stat -c %s $@)"

# A static position-independent program begins with musl's rcrt1.o. musl-gcc does not know -static-pie and would link the
# start files of a dynamic program, so they are named here. The optimiser's record of frames and calls,
# $(PRODUCT)/lto/*.ci, is read by tools/gates/check_stack.py; it changes no code. With one
# partition the optimiser sees the whole program.
$(BUILD)/$(NAME).debug: $(PRODUCT_OBJECTS) $(MBEDTLS_PRODUCT) $(PRODUCT)/flags
	$(call show,LINK,$@)
	@rm -rf $(PRODUCT)/lto && mkdir -p $(PRODUCT)/lto
	$(Q)$(MUSL_CC) $(PRODUCT_FLAGS) -flto-partition=one -fcallgraph-info=su,da -dumpdir $(PRODUCT)/lto/ \
		-static -nostartfiles $(LINK_HARDEN) -o $@ \
		$(MUSL)/rcrt1.o $(MUSL)/crti.o $(PRODUCT_OBJECTS) $(MBEDTLS_PRODUCT) $(MUSL)/crtn.o

# The code that every octet of a peer passes: with -Os, `make bench` shows HPACK half as fast and frames a quarter.
HOT := src/base/bytes.c src/wire/h2.c src/wire/hpack.c
$(HOT:%.c=$(PRODUCT)/%.o): private OPTIMISE := -O2

$(PRODUCT)/%.o: %.c $(PRODUCT)/flags
	$(call show,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(PRODUCT_FLAGS) $(WARNINGS) $(DEFINES) $(INCLUDES) $(EXTRA) -MMD -MP -c $< -o $@

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
	$(call remember,$@,$(COMPILER) $(PRODUCT_FLAGS) $(HOT) $(WARNINGS) $(DEFINES) $(LINK_HARDEN) \
		$(INCLUDES) $(notdir $(MBEDTLS_PRODUCT)))

$(BUILD)/obj/build-id: FORCE
	$(call remember,$@,$(BUILD_ID))

DEPENDENCIES += $(PRODUCT_OBJECTS:.o=.d)
