# make dist, deb, rpm: a source archive, and packages of what `make build` builds. Included by the Makefile.
# The same commit gives the same bytes: no package has a time of its making.

VERSION     := $(shell sed -n 's/.*static let text = "\([0-9.]*\)"$$/\1/p' Sources/Sourcing/SourcePlugIn.swift)
DIST        := build/rankfs-$(VERSION).tar.gz
DEB_ARCH    := $(shell dpkg --print-architecture 2>/dev/null)
DEB_ROOT    := build/deb
DEB         := build/rankfs_$(VERSION)_$(DEB_ARCH).deb
RPM_ROOT    := $(CURDIR)/build/rpm

.PHONY: dist deb rpm

# What is committed, with the times of the commit (git-archive(1)); mount-helper/arch/PKGBUILD and the spec file build from it.
dist:
	mkdir -p build
	git archive --prefix=rankfs-$(VERSION)/ HEAD | gzip -9n > $(DIST)

deb: build
	mount-helper/debian/build.sh $(BUILD) $(DEB_ROOT) $(DEB) $(VERSION) $(DEB_ARCH)

# In place: nothing is compiled twice. Where rpmbuild is not that of an RPM system it finds no package that is needed for the build.
# The package is clean under rpmlint -c mount-helper/rpmlint.toml.
rpm: build
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) rpmbuild -bb --quiet --build-in-place --nodeps \
	    --define "_topdir $(RPM_ROOT)" --define "rankfs_version $(VERSION)" mount-helper/rankfs.spec
	find $(RPM_ROOT)/RPMS -name '*.rpm' -exec mv {} build/ \;
