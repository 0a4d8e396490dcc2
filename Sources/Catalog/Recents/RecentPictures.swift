import Rankings

/// A picture that was read, by its path below the mount point, and when, in Unix seconds.
package struct RecentPicture: Hashable, Sendable {
    package var path: String
    package var opened: Int64

    package init(path: String, opened: Int64) {
        self.path = path
        self.opened = opened
    }

    /// The name that it has as long as it is remembered, whatever else is read: `2026-11-21_daily_001-Title.jpg`,
    /// `77-Title.jpg` of an author or a search, `77_p0.png` of a work.
    package var name: String {
        let path = TreePath(path)
        return switch path.parent {
        case .day(let mode, let day): "\(day)_\(mode.rawValue)_\(path.name)"
        // Pages of works are all called alike: their directory's number tells which.
        case .work(let work): "\(work.rawValue)_\(path.name)"
        default: path.name
        }
    }
}

/// What was read last, newest first: each name once, up to a number.
struct RecentPictures: Hashable, Sendable {
    /// A few screens of a file manager.
    static let bound = 100

    private(set) var pictures: [RecentPicture]
    /// The names of the pictures, in the same order: each is put together from its path, which takes longer than to compare it.
    private var names: [String] = []

    /// - Parameter pictures: Newest first.
    init(_ pictures: [RecentPicture] = []) {
        var known: Set<String> = []
        self.pictures = Array(pictures.filter { !$0.name.isEmpty && known.insert($0.name).inserted }.prefix(Self.bound))
        names = self.pictures.map(\.name)
    }

    /// Puts a picture in front.
    mutating func note(_ picture: RecentPicture) {
        let name = picture.name
        if let place = names.firstIndex(of: name) {
            pictures.remove(at: place)
            names.remove(at: place)
        }
        pictures.insert(picture, at: 0)
        names.insert(name, at: 0)
        guard pictures.count > Self.bound else { return }
        pictures.removeLast()
        names.removeLast()
    }
}
