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
