module release

go 1.26.0

require (
	github.com/google/go-containerregistry v0.20.6
	github.com/in-toto/attestation v1.2.0
	github.com/secure-systems-lab/go-securesystemslib v0.11.1
	github.com/spdx/tools-golang v0.5.5
	google.golang.org/protobuf v1.36.11
)

require (
	github.com/anchore/go-struct-converter v0.0.0-20221118182256-c68fdcfa2092 // indirect
	github.com/containerd/stargz-snapshotter/estargz v0.16.3 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/klauspost/compress v1.18.0 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
	github.com/vbatts/tar-split v0.12.1 // indirect
	golang.org/x/crypto v0.55.0 // indirect
	golang.org/x/sync v0.15.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
