import Rankings

@testable import RankFS

/// Nodes by short names.
extension Node {
    static let rankings = Node.directory(RankingsDirectory())
    static let users = Node.directory(FolderDirectory(kind: .author))

    static func mode(_ mode: RankingMode) -> Node { .directory(ModeDirectory(mode: mode)) }
    static func day(_ mode: RankingMode, _ day: Day) -> Node { .directory(DayDirectory(mode, day)) }
    static func latest(_ mode: RankingMode) -> Node { .directory(LatestDirectory(mode: mode)) }

    static func author(_ author: UserID) -> Node { .directory(AuthorDirectory(author: author)) }

    /// A helper file, whatever its text.
    static func helper(_ path: TreePath) -> Node {
        .file(HelperFile(path: path) { _ in [] })
    }
}
