#!/bin/sh
# Makes the package from what is built: build.sh BUILD ROOT DEB VERSION ARCHITECTURE, in the package's directory.
set -eu
umask 022
build=$1 root=$2 deb=$3 version=$4 arch=$5

# The same sources give the same bytes: every time stamp is that of the last commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Package.swift)}
export SOURCE_DATE_EPOCH

rm -rf "$root"
make -s install-files BUILD="$build" DESTDIR="$root" PREFIX=/usr UNITDIR=/lib/systemd/system \
    SBINDIR=/sbin ZSHDIR=/usr/share/zsh/vendor-completions THUNARX=
strip --remove-section=.comment --remove-section=.note "$root/usr/bin/rankfs" "$root/usr/libexec/rankfs/rankfs-render" "$root/usr/libexec/rankfs/rankfs-origin"

# Manual pages are compressed, and so are links to them named.
find "$root/usr/share/man" -type f -exec gzip -9n {} +
ln -s mount.rankfs.8.gz "$root/usr/share/man/man8/mount.fuse.rankfs.8.gz"
rm "$root/usr/share/man/man8/mount.fuse.rankfs.8"

doc=$root/usr/share/doc/rankfs
install -D -m 0644 mount-helper/debian/copyright "$doc/copyright"
install -m 0644 mount-helper/debian/changelog "$doc/changelog.gz.tmp"
gzip -9nc "$doc/changelog.gz.tmp" >"$doc/changelog.gz"
rm "$doc/changelog.gz.tmp"
install -D -m 0644 mount-helper/debian/lintian-overrides "$root/usr/share/lintian/overrides/rankfs"

# Which libraries the programs need, with the versions that it was linked against.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/debian"
printf 'Source: rankfs\n\nPackage: rankfs\nArchitecture: %s\n' "$arch" >"$work/debian/control"
programs=$PWD/$root/usr
libraries=$(cd "$work" && dpkg-shlibdeps -O "$programs/bin/rankfs" "$programs"/libexec/rankfs/rankfs-[ro][er]* | sed -n 's/^shlibs:Depends=//p')

install -d "$root/DEBIAN"
sed -e "s|@VERSION@|$version|" -e "s|@ARCH@|$arch|" -e "s|@LIBRARIES@|$libraries|" \
    -e "s|@SIZE@|$(du -sk --apparent-size "$root" | cut -f1)|" mount-helper/debian/control.in >"$root/DEBIAN/control"
sed "s|@MULTIARCH@|$(dpkg-architecture -a "$arch" -q DEB_HOST_MULTIARCH)|" mount-helper/debian/triggers.in >"$root/DEBIAN/triggers"
for script in postinst prerm postrm; do install -m 0755 "mount-helper/debian/$script" "$root/DEBIAN/$script"; done
(cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums)
chmod 0644 "$root/DEBIAN/control" "$root/DEBIAN/triggers" "$root/DEBIAN/md5sums"
dpkg-deb --build --root-owner-group "$root" "$deb"
