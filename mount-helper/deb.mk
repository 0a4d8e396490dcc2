# make deb: a Debian package with the Swift runtime inside the program, so that the system needs no Swift.
# Included by the Makefile.

DEB_VERSION := $(shell sed -n 's/.*static let text = "\(.*\)"/\1/p' Sources/rankfs/Serving/StatusSource.swift)
DEB_ARCH    := $(shell dpkg --print-architecture 2>/dev/null)
DEB         := build/rankfs_$(DEB_VERSION)_$(DEB_ARCH).deb
DEB_ROOT    := build/deb
DEB_BUILD   := .build/deb/release

.PHONY: deb deb-build

# A scratch path of its own: the runtime is linked into every part.
deb-build: setup
	swift build -c release --static-swift-stdlib --product rankfs --scratch-path .build/deb

deb: deb-build
	mount-helper/debian/build.sh $(DEB_BUILD) $(DEB_ROOT) $(DEB) $(DEB_VERSION) $(DEB_ARCH)
