# SPDX-License-Identifier: Apache-2.0
# The image, its test, and the chart.

# Of what the image says, the commit alone changes from one build to the next.
IMAGE := $(BUILD)/image
REVISION := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
CREATED := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

# What of the compiler is linked: 128-bit division, for example.
LIBGCC = $(shell $(CC) -print-libgcc-file-name)
LIBGCC_PACKAGE = $(shell dpkg-query -S $(LIBGCC) | sed 's/: .*//')

.PHONY: image
image: all deps-all
	@$(with_go) && cd tools/image && go run . --root $(CURDIR) --out $(CURDIR)/$(IMAGE) --binary $(AGENT) --machine $(ARCH) \
		--build '$(BUILD_ID)' --revision $(REVISION) --created $(CREATED) \
		--musl "$$(dpkg-query -W -f '$${Version}' "musl-dev:$$(dpkg --print-architecture)")" --musl-file $(MUSL)/libc.a \
		--libgcc "$$(dpkg-query -W -f '$${Version}' $(LIBGCC_PACKAGE))" --libgcc-file $(LIBGCC)

# Not a part of `make test`: a whole build more, and 230 MB of packages.
.PHONY: image-arm64
image-arm64: all deps-all
	@$(with_go) && tools/image/arm64.sh '$(BUILD_ID)' $(REVISION) $(CREATED)

.PHONY: image-test
image-test: image
	@$(with_go) && cd tools/image && $(failures) go test -count=1 .
	@$(with_go) && cd tests/release && HELM="$$(/usr/bin/python3 $(CURDIR)/tools/cluster/build.py --helm)" $(failures) go test -count=1 .
	@tools/image/twice.sh image "$(addprefix $(IMAGE)/$(NAME).,tar spdx.json)" '$(BUILD_ID)' $(REVISION) $(CREATED)

.PHONY: manifests
manifests: deps-all
	@$(with_go) /usr/bin/python3 tools/image/manifests.py

# Not a part of `make test`: Karpenter and what it needs take minutes to compile.
.PHONY: autoscale-test
autoscale-test: all deps-all
	@$(with_go) && cd tests/autoscale && AGENT=$(CURDIR)/$(BUILD)/$(NAME) go test -count=1 .

.PHONY: chart-test
chart-test: all deps-all image
	@$(with_go) /usr/bin/python3 tools/image/manifests.py --check
	@$(with_go) && cd tests/chart && HELM="$$(/usr/bin/python3 $(CURDIR)/tools/cluster/build.py --helm)" \
		$(failures) go test -count=1 .
