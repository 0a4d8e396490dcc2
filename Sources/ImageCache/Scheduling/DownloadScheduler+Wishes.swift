internal import Rankings

extension DownloadScheduler {
    /// A picture to download ahead of somebody's walk.
    struct Wish: Sendable {
        let directory: UInt64
        let picture: PictureRequest
    }

    /// How many wishes may be begun now.
    func ready(now: ContinuousClock.Instant) -> Int {
        restsUntil.map { $0 > now } ?? false ? 0 : wishes.count
    }

    /// Takes wishes, the first one next, in place of what was wished for that directory.
    mutating func wish(_ pictures: [PictureRequest], directory: UInt64) {
        dropWishes(of: directory)
        wishes += pictures.map { Wish(directory: directory, picture: $0) }
    }

    /// Takes the first wish out.
    mutating func takeWish() -> Wish? { wishes.isEmpty ? nil : wishes.removeFirst() }

    /// Forgets all wishes.
    mutating func dropWishes() { wishes = [] }

    /// Forgets a directory's wishes.
    mutating func dropWishes(of directory: UInt64) { wishes.removeAll { $0.directory == directory } }

    /// Forgets the wishes that are void.
    mutating func dropWishes(where isVoid: (Wish) -> Bool) { wishes.removeAll(where: isVoid) }

    /// The network failed: forgets all wishes and begins no new ones for a while.
    mutating func rest(until end: ContinuousClock.Instant) {
        restsUntil = end
        dropWishes()
    }

    /// The network works again.
    mutating func goOn() { restsUntil = nil }
}
