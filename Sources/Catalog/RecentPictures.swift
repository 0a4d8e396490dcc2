/// What was read last, newest first: each path once, up to a number.
struct RecentPictures: Hashable, Sendable {
    /// A few screens of a file manager.
    static let bound = 100

    private(set) var pictures: [RecentPicture]

    /// - Parameter pictures: Newest first.
    init(_ pictures: [RecentPicture] = []) {
        self.pictures = Array(pictures.prefix(Self.bound))
    }

    /// Puts a picture in front.
    mutating func note(_ picture: RecentPicture) {
        pictures.removeAll { $0.path == picture.path }
        pictures.insert(picture, at: 0)
        if pictures.count > Self.bound { pictures.removeLast() }
    }
}
