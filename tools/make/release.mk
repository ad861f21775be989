# SPDX-License-Identifier: Apache-2.0
# What a release page carries: build/release, and the text of the page beside it.

RELEASE := $(BUILD)/release
# Who builds, and from where: a service that signs names itself.
RELEASE_BUILDER ?= urn:$(NAME):somebody
RELEASE_SOURCE ?= urn:$(NAME):source
# Packages of this machine whose versions decide on the bytes.
RELEASE_PACKAGES = musl-dev binutils gcc-$$(gcc -dumpversion) binutils-aarch64-linux-gnu \
	gcc-$$(aarch64-linux-gnu-gcc -dumpversion)-aarch64-linux-gnu zlib1g
# Else the statement would name a commit that the files are not of; better now than after the whole build.
ifneq ($(filter release release-twice release-evidence,$(MAKECMDGOALS)),)
ifneq ($(findstring -dirty,$(BUILD_ID)),)
$(error release: the files here are not those of the commit ($(BUILD_ID)): commit, or put aside what is not to be released)
endif
endif

.PHONY: release
release: image image-arm64 man
	@[ $(ARCH) = x86_64 ] || { echo 'release: the machine has to be an x86_64, which builds for arm64 too' >&2; exit 1; }
	@$(with_go) && /usr/bin/python3 tools/image/release.py --out $(RELEASE) --amd64 $(BUILD) $(IMAGE) \
		--arm64 $(BUILD)/arm64/source/build $(IMAGE)/arm64 --page $(BUILD)/$(NAME).1 \
		--build '$(BUILD_ID)' --revision $(REVISION) --created $(CREATED) \
		--source '$(RELEASE_SOURCE)' --builder '$(RELEASE_BUILDER)' --go "$$(go env GOVERSION)" \
		$$(printf -- '--package %s ' $(RELEASE_PACKAGES)) --deb '$(BUILD)/arm64/deb/musl-dev_*_arm64.deb'
	@$(with_go) && cd tests/release && RELEASE=$(CURDIR)/$(RELEASE) HELM="$$(/usr/bin/python3 $(CURDIR)/tools/cluster/build.py --helm)" \
		$(failures) go test -count=1 .

# Not a part of `make test`: the whole build a second time, for two machines.
.PHONY: release-twice
release-twice: release
	@tools/image/twice.sh release $(RELEASE)/SHA256SUMS '$(BUILD_ID)' $(REVISION) $(CREATED)

# Beside the files of the release and not among them: it has dates and measured figures, so no two are the same bytes.
.PHONY: release-evidence
release-evidence: evidence
	@tar -czf $(BUILD)/release-evidence.tar.gz -C $(BUILD) --owner=0 --group=0 evidence/index.html evidence/files evidence/parts
	@printf 'release: %s\n' $(BUILD)/release-evidence.tar.gz
