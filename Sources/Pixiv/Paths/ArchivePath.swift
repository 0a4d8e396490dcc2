import Rankings

/// Where the image host keeps the frames of an animation, taken apart as `PicturePath` does.
///
/// The form is
/// `img-zip-ugoira/img/YYYY/MM/DD/hh/mm/ss/<id>[-<32 hex>]_ugoira<width>x<height>.zip`.
struct ArchivePath: Hashable, Sendable {
    let work: WorkID
    /// Upload time in Unix seconds.
    let uploaded: Int64
    /// What is kept in records: `2022/04/30/00/00/15/97973029_ugoira1920x1080.zip`.
    let reference: String

    /// From the host's root.
    var path: String { "/img-zip-ugoira/img/\(reference)" }

    init?(url: String) {
        guard var parts = PathParts.behindHost(url), parts.popFirst() == "img-zip-ugoira", parts.popFirst() == "img"
        else { return nil }
        self.init(reference: parts.joined(separator: "/"))
    }

    init?(reference: String) {
        guard let (folders, name) = PathParts.ofReference(reference), let uploaded = PathParts.uploaded(folders),
            name.hasSuffix(Self.ending)
        else { return nil }
        let parts = name.dropLast(Self.ending.utf8.count).split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let work = PathParts.work(ofStem: parts[0]), parts[1].hasPrefix(Self.kind) else {
            return nil
        }
        let size = parts[1].dropFirst(Self.kind.utf8.count).split(separator: "x", omittingEmptySubsequences: false)
        guard size.count == 2, size.allSatisfy({ $0.utf8.count <= 4 && PathParts.decimal($0) != nil }) else {
            return nil
        }
        self.work = work
        self.uploaded = uploaded
        self.reference = reference
    }

    private static let ending = ".zip"
    private static let kind = "ugoira"
}
