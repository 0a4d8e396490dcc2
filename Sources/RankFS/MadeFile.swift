import Rankings

/// A file that is made of what the service tells, beside the pictures.
enum MadeFile: Hashable, Sendable {
    /// The full record of a work.
    case info(WorkID)
    /// An animation's frames as Matroska, not encoded anew.
    case matroska(WorkID)
    /// An animation as WebP.
    case webp(WorkID)
    case profile(UserID)
    /// The picture of an author.
    case avatar(UserID)

    /// The path below the mount point.
    var path: String { treePath.text }

    var treePath: TreePath { .entry(parent.treePath, name) }

    var name: String {
        switch self {
        case .info: "info.json"
        case .matroska: "ugoira.mkv"
        case .webp: "ugoira.webp"
        case .profile: "profile.json"
        case .avatar: "avatar.jpg"
        }
    }

    var parent: Node {
        switch self {
        case .info(let work), .matroska(let work), .webp(let work): .work(work)
        case .profile(let author), .avatar(let author): .author(author, modified: nil)
        }
    }

    /// What every work's directory holds besides its pages.
    static func ofWork(_ work: WorkID, isAnimation: Bool) -> [MadeFile] {
        isAnimation ? [.info(work), .matroska(work), .webp(work)] : [.info(work)]
    }

    static func ofAuthor(_ author: UserID) -> [MadeFile] {
        [.profile(author), .avatar(author)]
    }
}
