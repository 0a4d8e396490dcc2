# install and uninstall: the programs, the links by which mount(8) finds it, units, manual pages, completions.
# Included by the Makefile, which sets PREFIX, DESTDIR and BUILD.

# mount(8) looks for helpers in /sbin and /usr/sbin only, whatever PREFIX is.
SBINDIR     ?= /usr/sbin
USERUNITDIR ?= $(PREFIX)/lib/systemd/user
UNITDIR     ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
MANDIR      ?= $(PREFIX)/share/man
BASHDIR     ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR      ?= $(PREFIX)/share/zsh/site-functions
FISHDIR     ?= $(PREFIX)/share/fish/vendor_completions.d

HELPERS   := mount.rankfs mount.fuse.rankfs
COMPLETES := $(BASHDIR)/rankfs $(ZSHDIR)/_rankfs $(FISHDIR)/rankfs.fish
# What rankfs starts itself: what decodes pictures, and the origin of `rankfs demo`. It looks for them in ../libexec/rankfs.
PROGRAMS  := rankfs-render rankfs-origin
PROGRAMDIR := $(PREFIX)/libexec/rankfs
# Off until a user enables the timer.
FEEDUNITS := $(addprefix $(USERUNITDIR)/rankfs-feed@,.service .timer)
INSTALLED := $(PREFIX)/bin/rankfs $(addprefix $(PROGRAMDIR)/,$(PROGRAMS)) $(USERUNITDIR)/rankfs@.service $(FEEDUNITS) $(UNITDIR)/rankfs@.service \
             $(SYSUSERSDIR)/rankfs.conf $(TMPFILESDIR)/rankfs.conf $(COMPLETES) \
             $(MANDIR)/man1/rankfs.1 $(MANDIR)/man5/rankfs.conf.5 $(MANDIR)/man8/mount.rankfs.8 \
             $(MANDIR)/man8/mount.fuse.rankfs.8

include mount-helper/desktop.mk

.PHONY: install install-files uninstall

install: build install-files

# What is built already; completions are written by the program itself.
install-files: install-desktop
	install -D -s -m 0755 $(BUILD)/rankfs $(DESTDIR)$(PREFIX)/bin/rankfs
	install -d $(DESTDIR)$(PROGRAMDIR)
	install -s -m 0755 $(addprefix $(BUILD)/,$(PROGRAMS)) $(DESTDIR)$(PROGRAMDIR)
	install -d $(addprefix $(DESTDIR),$(SBINDIR) $(USERUNITDIR) $(UNITDIR) $(dir $(COMPLETES)))
	for helper in $(HELPERS); do ln -sfn $(PREFIX)/bin/rankfs $(DESTDIR)$(SBINDIR)/$$helper || exit 1; done
	sed 's|@PREFIX@|$(PREFIX)|g' mount-helper/rankfs@.service.in > $(DESTDIR)$(USERUNITDIR)/rankfs@.service
	sed 's|@PREFIX@|$(PREFIX)|g' mount-helper/rankfs-feed@.service.in > $(DESTDIR)$(USERUNITDIR)/rankfs-feed@.service
	cp mount-helper/rankfs-feed@.timer $(DESTDIR)$(USERUNITDIR)/
	sed 's|@PREFIX@|$(PREFIX)|g' mount-helper/rankfs-system@.service.in > $(DESTDIR)$(UNITDIR)/rankfs@.service
	install -D -m 0644 mount-helper/rankfs.sysusers $(DESTDIR)$(SYSUSERSDIR)/rankfs.conf
	install -D -m 0644 mount-helper/rankfs.tmpfiles $(DESTDIR)$(TMPFILESDIR)/rankfs.conf
	install -D -m 0644 mount-helper/man/rankfs.1 $(DESTDIR)$(MANDIR)/man1/rankfs.1
	install -D -m 0644 mount-helper/man/rankfs.conf.5 $(DESTDIR)$(MANDIR)/man5/rankfs.conf.5
	install -D -m 0644 mount-helper/man/mount.rankfs.8 $(DESTDIR)$(MANDIR)/man8/mount.rankfs.8
	ln -sfn mount.rankfs.8 $(DESTDIR)$(MANDIR)/man8/mount.fuse.rankfs.8
	$(BUILD)/rankfs completions bash > $(DESTDIR)$(BASHDIR)/rankfs
	$(BUILD)/rankfs completions zsh > $(DESTDIR)$(ZSHDIR)/_rankfs
	$(BUILD)/rankfs completions fish > $(DESTDIR)$(FISHDIR)/rankfs.fish
	chmod 0644 $(addprefix $(DESTDIR),$(USERUNITDIR)/rankfs@.service $(FEEDUNITS) $(UNITDIR)/rankfs@.service $(COMPLETES))

# A link that leads to another program stays.
uninstall: uninstall-desktop
	for helper in $(HELPERS); do \
	    test "$$(readlink $(DESTDIR)$(SBINDIR)/$$helper)" != "$(PREFIX)/bin/rankfs" || rm -f $(DESTDIR)$(SBINDIR)/$$helper; \
	done
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	-rmdir $(DESTDIR)$(PROGRAMDIR) 2>/dev/null
