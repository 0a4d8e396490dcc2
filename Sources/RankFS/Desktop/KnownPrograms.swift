/// The programs that must be known by name, since nothing else that they do tells them apart: every list of names is here.
///
/// Most programs are told by what they do: file managers by the names that they look up (`ProbedNames`) and by what they watch
/// (`LookRecognition`), those that walk by the order in which they open (`Excursions`), those that copy and pack by following no
/// links (`O_NOFOLLOW`).
package enum KnownPrograms {
    /// What looks into directories for previews: KIO's workers of KDE Frameworks 5 and 6.
    static let previewers: Set<String> = ["kioslave5", "kioworker"]

    /// Programs that look for all thumbnails of a directory in order and have a picture read that has none yet; Dolphin lists in a
    /// thread of its own (seen with 22.12).
    static let eagerViewers: Set<String> = [dolphin.program]

    /// Programs that name thumbnails by the decoded address: libgwenview, ThumbnailProvider takes the digest of QUrl::url().
    static let decodingViewers: Set<String> = ["gwenview"]

    /// How the names of programs end that file managers start to make a thumbnail of one file, as the entries of
    /// `/usr/share/thumbnailers` say.
    static let thumbnailerEnding = "thumbnailer"

    /// What a previewer's command line holds when it makes thumbnails: `kioslave5 …/kio/thumbnail.so thumbnail local:…`.
    static let previewerTask = "thumbnail"

    /// Indexers that read what they find unless a directory says that it is not to be indexed.
    package static let trackers: Set<String> = ["tracker-miner-f", "localsearch-3"]
    /// Likewise, KDE's, which can only be told in its configuration.
    package static let baloo = "baloo_file"

    /// A file manager: its name in sentences, and its program.
    package struct FileManager: Sendable {
        package let name: String
        package let program: String
    }

    package static let nautilus = FileManager(name: "Nautilus", program: "nautilus")
    package static let nemo = FileManager(name: "Nemo", program: "nemo")
    package static let caja = FileManager(name: "Caja", program: "caja")
    package static let thunar = FileManager(name: "Thunar", program: "thunar")
    package static let dolphin = FileManager(name: "Dolphin", program: "dolphin")
}
