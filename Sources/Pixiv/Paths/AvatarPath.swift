import Rankings

/// Where the image host keeps the picture of an author, taken apart as `PicturePath` does.
///
/// The form is `user-profile/img/YYYY/MM/DD/hh/mm/ss/<number>_<32 hex>[_<edge>].<ext>`, as in all recorded answers; the number is
/// not the author's. The picture of authors who have none lies elsewhere and is no such path.
struct AvatarPath: Hashable, Sendable {
    /// Upload time in Unix seconds.
    let uploaded: Int64
    let fileExtension: String
    /// What is kept in records: the path behind `user-profile/img/`.
    let reference: String

    /// From the host's root.
    var path: String { "/user-profile/img/\(reference)" }

    init?(url: String) {
        guard var parts = PathParts.behindHost(url), parts.popFirst() == "user-profile", parts.popFirst() == "img"
        else { return nil }
        self.init(reference: parts.joined(separator: "/"))
    }

    init?(reference: String) {
        guard let (folders, name) = PathParts.ofReference(reference), let uploaded = PathParts.uploaded(folders) else {
            return nil
        }
        let halves = name.split(separator: ".", omittingEmptySubsequences: false)
        guard halves.count == 2, ["jpg", "png", "gif"].contains(halves[1]) else { return nil }
        let parts = halves[0].split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 3 && PathParts.decimal(parts[2]) != nil,
            PathParts.decimal(parts[0]) != nil, PathParts.isHash(parts[1])
        else { return nil }
        self.uploaded = uploaded
        self.fileExtension = String(halves[1])
        self.reference = reference
    }
}
