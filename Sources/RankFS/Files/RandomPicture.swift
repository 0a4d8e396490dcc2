import Catalog
import Fuse
import ImageCache
import Rankings
import Synchronization

/// `random.jpg` as the root lists it: a stored picture, which is chosen when a program looks it up.
struct RandomPicture: TreeFile {
    var path: TreePath { .random }
    var parent: any TreeDirectory { RootDirectory() }
    func size(in tree: Tree) async throws(Failure) -> SizeAndTime { throw .noSuchName }
    func opened(in tree: Tree) async throws(Failure) -> OpenedFile { throw .noSuchName }
}

extension Tree {
    /// The picture that `random.jpg` is for a caller.
    func randomPicture(for caller: Caller) async -> Node {
        let processes = configuration.processes
        let process = processes.program(caller.process)?.process ?? caller.process
        let starters = processes.starters(caller.process).map(\.process)
        let held = random.withLock { $0.choice(for: [process] + starters, now: configuration.monotonicNow()) }
        if let held, let picture = await stored(held) { return picture }
        guard let (listing, index) = await anotherPicture(), let entry = listing.entry(at: index) else {
            return .file(HelperFile.standIn)
        }
        let choice = RandomChoices.Choice(picture: entry.picture, listing: listing.key)
        random.withLock { $0.hold(choice, for: process, now: configuration.monotonicNow()) }
        return .picture(listing, Int32(clamping: index))
    }

    private func stored(_ choice: RandomChoices.Choice) async -> Node? {
        guard cache.storedSize(of: choice.picture) != nil, let listing = await catalog.listings.stored(choice.listing),
            let index = listing.index(of: choice.picture)
        else { return nil }
        return .picture(listing, Int32(clamping: index))
    }

    /// A stored picture that is shown somewhere: not the last one if there is another; nil if there is none at all.
    private func anotherPicture() async -> (listing: Listing, index: Int)? {
        let last = random.withLock(\.last)
        var passed: Set<PictureID> = []
        for _ in 0..<TreeLimits.randomTries {
            let found = cache.randomPicture {
                Rendition.ofListings.contains($0.rendition) && $0 != last && !passed.contains($0)
            }
            guard let picture = found else { break }
            if let place = await shownPlace(of: picture) { return place }
            passed.insert(picture)
        }
        guard let last, cache.storedSize(of: last) != nil else { return nil }
        return await shownPlace(of: last)
    }

    /// Where the mount shows a picture to everybody; nil if none of the stored directories does, or it is a film.
    private func shownPlace(of picture: PictureID) async -> (listing: Listing, index: Int)? {
        await catalog.listings.place(of: picture) { [self] listing, index in
            guard let entry = listing.entry(at: index), !entry.isHidden else { return false }
            let node = Node.picture(listing, Int32(clamping: index))
            return node.refusal(in: self) == nil && !isKept(node)
                && PictureAttribute.mimeType(ofFileNamed: entry.name).hasPrefix("image/")
        }
    }
}

// MARK: - Random choices

/// Which picture `random.jpg` is for whom: the choice is made when a program first looks, and stays for it and for those that
/// it starts.
///
/// A program looks more than once at what it opens: `cp` compares what it saw with what it opened, and viewers look for the
/// type first. Each must see one picture; the next program, as in a loop of a shell, sees another one.
///
/// A pure state machine: it knows neither clock nor processes.
struct RandomChoices: Sendable {
    /// A picture, and a listing that shows it.
    struct Choice: Hashable, Sendable {
        var picture: PictureID
        var listing: ListingKey
    }

    /// A longer pause between two looks ends a choice.
    static let pause: Duration = .seconds(3)
    /// A program that looks again and again, as wallpapers do, sees another picture after this time.
    static let longest: Duration = .seconds(10)
    /// Programs remembered; when there are more, those whose time is over are forgotten, then all.
    static let most = 1000

    private struct Held {
        var choice: Choice
        let chosen: ContinuousClock.Instant
        var looked: ContinuousClock.Instant

        func isOver(_ now: ContinuousClock.Instant) -> Bool {
            looked.duration(to: now) > RandomChoices.pause || chosen.duration(to: now) > RandomChoices.longest
        }
    }

    private var held: [Int32: Held] = [:]
    /// The picture that was chosen last, by whomever.
    private(set) var last: PictureID?

    var remembered: Int { held.count }

    /// The choice that holds for a program.
    ///
    /// - Parameters:
    ///   - processes: The program's process number and those of who started it, the nearest first.
    ///   - now: When.
    /// - Returns: Nil if one is to be made.
    mutating func choice(for processes: [Int32], now: ContinuousClock.Instant) -> Choice? {
        guard let process = processes.first(where: { held[$0]?.isOver(now) == false }) else { return nil }
        held[process]?.looked = now
        return held[process]?.choice
    }

    /// Holds a choice for a program.
    mutating func hold(_ choice: Choice, for process: Int32, now: ContinuousClock.Instant) {
        if held.count >= Self.most { held = held.filter { !$0.value.isOver(now) } }
        if held.count >= Self.most { held = [:] }
        held[process] = Held(choice: choice, chosen: now, looked: now)
        last = choice.picture
    }
}
