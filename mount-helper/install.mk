# install and uninstall: the program, the links by which mount(8) finds it, the user unit.
# Included by the Makefile, which sets PREFIX, DESTDIR and BUILD.

# mount(8) looks for helpers in /sbin and /usr/sbin only, whatever PREFIX is.
SBINDIR     ?= /usr/sbin
USERUNITDIR ?= $(PREFIX)/lib/systemd/user

HELPERS := mount.rankfs mount.fuse.rankfs

install: build
	install -D -m 0755 $(BUILD)/rankfs $(DESTDIR)$(PREFIX)/bin/rankfs
	install -d $(DESTDIR)$(SBINDIR) $(DESTDIR)$(USERUNITDIR)
	for helper in $(HELPERS); do ln -sfn $(PREFIX)/bin/rankfs $(DESTDIR)$(SBINDIR)/$$helper || exit 1; done
	sed 's|@PREFIX@|$(PREFIX)|g' mount-helper/rankfs@.service.in > $(DESTDIR)$(USERUNITDIR)/rankfs@.service
	chmod 0644 $(DESTDIR)$(USERUNITDIR)/rankfs@.service

# A link that leads to another program stays.
uninstall:
	for helper in $(HELPERS); do \
	    test "$$(readlink $(DESTDIR)$(SBINDIR)/$$helper)" != "$(PREFIX)/bin/rankfs" || rm -f $(DESTDIR)$(SBINDIR)/$$helper; \
	done
	rm -f $(DESTDIR)$(PREFIX)/bin/rankfs $(DESTDIR)$(USERUNITDIR)/rankfs@.service
