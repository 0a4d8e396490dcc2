/// Names that desktops, file servers and players look up in every directory, whatever is there.
enum ProbedNames {
    /// The name that GIO and KDE look up in a directory that they list, and in no other.
    private static let opening = Array(".hidden".utf8)
    private static let announcements = [opening, Array(".directory".utf8)]

    /// Files that desktops, file servers and players look for; names that begin with a dot are no search either.
    private static let files: Set<String> = [
        "desktop.ini", "thumbs.db", "autorun.inf", "folder.jpg", "cover.jpg", "albumart.jpg", "ehthumbs.db",
        "lost+found", "index.html", "album.xml", "cachedir.tag",
    ]

    /// Whether a desktop shows itself by asking for this name; its absence must not be remembered by the kernel.
    ///
    /// Thunar, Nautilus, Nemo, Caja and Dolphin look up `.hidden`, PCManFM and KDE's previews of folders `.directory`.
    static func isAnnouncement(_ name: [UInt8]) -> Bool {
        announcements.contains(name)
    }

    /// Whether it is the name that GIO and KDE look up in a directory that they list, and in no other.
    static func isOpening(_ name: [UInt8]) -> Bool {
        name == opening
    }

    /// Whether programs look for this name anywhere, so that nobody has typed it.
    static func isProbed(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: ".") || files.contains(name.lowercased())
    }
}
