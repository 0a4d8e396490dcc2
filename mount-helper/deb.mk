# make deb: a Debian package of what `make build` builds.
# Included by the Makefile.

DEB_VERSION := $(shell sed -n 's/.*static let text = "\([0-9.]*\)"$$/\1/p' Sources/Sourcing/SourcePlugIn.swift)
DEB_ARCH    := $(shell dpkg --print-architecture 2>/dev/null)
DEB         := build/rankfs_$(DEB_VERSION)_$(DEB_ARCH).deb
DEB_ROOT    := build/deb

.PHONY: deb

deb: build
	mount-helper/debian/build.sh $(BUILD) $(DEB_ROOT) $(DEB) $(DEB_VERSION) $(DEB_ARCH)
