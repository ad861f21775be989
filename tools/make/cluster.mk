# SPDX-License-Identifier: Apache-2.0
# Real clusters on this machine.

.PHONY: e2e
e2e: image older metadata-programs deps-all
	@$(with_go) $(failures) /usr/bin/python3 tools/cluster/e2e.py --k8s $(K8S)

# Not a part of `make test`: it builds four more releases of Kubernetes first.
.PHONY: e2e-matrix
e2e-matrix: image metadata-programs deps-all
	@$(with_go) /usr/bin/python3 tools/cluster/matrix.py $(if $(UPDATE),--update) $(ROWS)

# tests/unit/test_recorded.c replays it. Not a part of `make test`: it changes files of the repository.
.PHONY: record
record: all deps-all
	@$(with_go) /usr/bin/python3 tools/cluster/record.py

# The programs of a node, built once and kept in the cache.
.PHONY: cluster-programs
cluster-programs: deps-all
	@$(with_go) /usr/bin/python3 tools/cluster/build.py --k8s $(K8S)

.PHONY: cluster
cluster: all deps-all
	@$(with_go) /usr/bin/python3 tools/cluster/cluster.py up --name cluster --board $(BOARD)

.PHONY: cluster-down
cluster-down:
	/usr/bin/python3 tools/cluster/cluster.py down --name cluster

# Not a part of `make test`: it installs two systems.
.PHONY: e2e-debian
e2e-debian:
	@tests/demo/debootstrap.sh --e2e
