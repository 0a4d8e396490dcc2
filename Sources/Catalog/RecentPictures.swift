/// What was read last, newest first: each name once, up to a number.
struct RecentPictures: Hashable, Sendable {
    /// A few screens of a file manager.
    static let bound = 100

    private(set) var pictures: [RecentPicture]

    /// - Parameter pictures: Newest first.
    init(_ pictures: [RecentPicture] = []) {
        var names: Set<String> = []
        self.pictures = Array(pictures.filter { !$0.name.isEmpty && names.insert($0.name).inserted }.prefix(Self.bound))
    }

    /// Puts a picture in front.
    mutating func note(_ picture: RecentPicture) {
        pictures.removeAll { $0.name == picture.name }
        pictures.insert(picture, at: 0)
        if pictures.count > Self.bound { pictures.removeLast() }
    }
}
