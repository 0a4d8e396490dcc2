/// A program that reads pictures to make thumbnails.
enum Thumbnailer: Hashable, Sendable {
    /// One that a file manager starts for one file, as the entries of `/usr/share/thumbnailers` say:
    /// `gdk-pixbuf-thumbnailer -s 256 file:///… /tmp/….png`. The edge is in pixels.
    case ofOneFile(edge: Int)
    /// KDE's worker, which makes one after the other: `kioslave5 …/kio/thumbnail.so thumbnail local:…`.
    case worker

    /// The edge of those that are told none.
    private static let normalEdge = 128

    /// Nil for the command line of another program.
    init?(arguments: [String]) {
        guard let program = arguments.first else { return nil }
        if KnownPrograms.previewers.contains(where: program.hasSuffix), arguments.contains(KnownPrograms.previewerTask)
        {
            self = .worker
        } else if program.hasSuffix(KnownPrograms.thumbnailerEnding) {
            let edges = zip(arguments.dropFirst(), arguments.dropFirst(2)).filter { ["-s", "--size"].contains($0.0) }
            self = .ofOneFile(edge: edges.last.map { Int($0.1) ?? .max } ?? Self.normalEdge)
        } else {
            return nil
        }
    }
}
