# A place on the desktop: entry and icon, actions in the context menus of file managers (mount-helper/desktop).
# Included by install.mk, whose install-files and uninstall do this too; PREFIX decides where all of it goes.

DATADIR    ?= $(PREFIX)/share
LIBEXECDIR ?= $(PREFIX)/libexec/rankfs
DESKTOP_FOLDER := mount-helper/desktop

DESKTOP_PROGRAMS   := rankfs-action rankfs-desktop
DESKTOP_MODULES    := rankfs_desktop.py rankfs_menu.py
# Each loads the same file by a binding of its own. Those of Nemo and Caja look into /usr/share and homes only, whatever PREFIX is.
NEMODIR            ?= /usr/share/nemo-python/extensions
CAJADIR            ?= /usr/share/caja-python/extensions
DESKTOP_EXTENSIONS := $(addsuffix /rankfs_menu.py,$(DATADIR)/nautilus-python/extensions $(NEMODIR) $(CAJADIR))
# thunarx-python 0.5 crashes Thunar on any file where this typelib is missing, and does not depend on it: then there is no link.
THUNARX            ?= $(wildcard /usr/lib*/girepository-1.0/Thunarx-3.0.typelib /usr/lib/*/girepository-1.0/Thunarx-3.0.typelib)
DESKTOP_THUNAR     := $(DATADIR)/thunarx-python/extensions/rankfs_menu.py
# Written with the path of the programs in them.
DESKTOP_WRITTEN    := $(DATADIR)/applications/org.rankfs.rankfs.desktop $(DATADIR)/kio/servicemenus/rankfs-works.desktop \
                      $(DATADIR)/kio/servicemenus/rankfs-keep.desktop $(DATADIR)/dbus-1/services/org.rankfs.Menus.service
DESKTOP_METAINFO   := $(DATADIR)/metainfo/org.rankfs.rankfs.metainfo.xml
ICONDIR            := $(DATADIR)/icons/hicolor/scalable
DESKTOP_ICONS      := $(ICONDIR)/apps/rankfs.svg \
                      $(patsubst %,$(ICONDIR)/emblems/emblem-rankfs-%.svg,stored kept animation)
DESKTOP_INSTALLED  := $(addprefix $(LIBEXECDIR)/,$(DESKTOP_PROGRAMS) $(DESKTOP_MODULES)) $(DESKTOP_EXTENSIONS) $(DESKTOP_THUNAR) \
                      $(DESKTOP_WRITTEN) $(DESKTOP_METAINFO) $(DESKTOP_ICONS)

.PHONY: install-desktop uninstall-desktop

install-desktop:
	install -d $(addprefix $(DESTDIR),$(LIBEXECDIR) $(dir $(DESKTOP_WRITTEN) $(DESKTOP_ICONS)))
	install -m 0755 $(addprefix $(DESKTOP_FOLDER)/,$(DESKTOP_PROGRAMS)) $(DESTDIR)$(LIBEXECDIR)
	install -m 0644 $(addprefix $(DESKTOP_FOLDER)/,$(DESKTOP_MODULES)) $(DESTDIR)$(LIBEXECDIR)
	for link in $(addprefix $(DESTDIR),$(DESKTOP_EXTENSIONS) $(if $(THUNARX),$(DESKTOP_THUNAR))); do \
	    install -d $${link%/*} && \
	    ln -sfnr $(DESTDIR)$(LIBEXECDIR)/rankfs_menu.py $$link || exit 1; \
	done
	for file in $(DESKTOP_WRITTEN); do \
	    sed 's|@LIBEXECDIR@|$(LIBEXECDIR)|g' $(DESKTOP_FOLDER)/$${file##*/}.in > $(DESTDIR)$$file && \
	    chmod 0644 $(DESTDIR)$$file || exit 1; \
	done
	install -D -m 0644 $(DESKTOP_FOLDER)/$(notdir $(DESKTOP_METAINFO)) $(DESTDIR)$(DESKTOP_METAINFO)
	for icon in $(DESKTOP_ICONS); do \
	    install -m 0644 $(DESKTOP_FOLDER)/icons/$${icon##*/} $(DESTDIR)$$icon || exit 1; \
	done
	test -n "$(DESTDIR)" || $(MAKE) -s desktop-caches

# What Python compiled goes too.
uninstall-desktop:
	rm -f $(addprefix $(DESTDIR),$(DESKTOP_INSTALLED))
	rm -f $(patsubst %,$(DESTDIR)%__pycache__/rankfs_*.pyc,$(LIBEXECDIR)/ $(dir $(DESKTOP_EXTENSIONS) $(DESKTOP_THUNAR)))
	-rmdir $(patsubst %,$(DESTDIR)%/__pycache__,$(LIBEXECDIR)) $(DESTDIR)$(LIBEXECDIR) 2>/dev/null
	test -n "$(DESTDIR)" || $(MAKE) -s desktop-caches

# Programs look into these only where they exist, and then into nothing else.
.PHONY: desktop-caches
desktop-caches:
	test ! -e $(DATADIR)/icons/hicolor/icon-theme.cache || gtk-update-icon-cache -q -f $(DATADIR)/icons/hicolor || true
	test ! -e $(DATADIR)/applications/mimeinfo.cache || update-desktop-database -q $(DATADIR)/applications || true
