import Rankings

/// The texts of posts: titles, captions, series and tags, each from its own random stream.
extension Universe {
    /// Every twelfth rank has a strange title, so that a day of 500 has some forty of them.
    private static let strangeEvery = 12
    /// Titles that break naive file naming; each is known from a real site or possible there.
    static let strangeTitles = Words.list("titles.strange")

    /// The title of a work.
    func title(of post: Post) -> String {
        if let (place, _) = Landmarks.mark(post.slot, service) { return "見本\(place + 1)" }
        let (every, strange) = (Self.strangeEvery, Self.strangeTitles)
        let slot = post.slot
        let (place, turn) = Mode.place(slot).map { ($1 + 1, slot.day * 5 + $0.index) } ?? (slot.number, 0)
        if place % every == every - 1 { return strange[(place / every + turn) % strange.count] }
        var chance = chance(0x71, post.id)
        return Self.title(&chance)
    }

    /// A random ordinary title.
    private static func title(_ chance: inout Chance) -> String {
        func word(_ list: String) -> String { chance.pick(Words.list("titles.\(list)")) }
        switch chance.below(20) {
        case 0...9: return word("whens") + word("whats")
        case 10: return word("whats") + "【\(chance.within(1...180))】"
        case 11: return "\(chance.within(1...31))日目、" + word("whats")
        case 12...14: return word("adjectives") + " " + word("nouns")
        default: return word(["chinese", "korean", "russian", "arabic", "thai"][chance.below(5)])
        }
    }

    /// The author's caption of a work as pixiv sends it: HTML with line breaks, links and entities; links lead through a
    /// page of the service, with the address as its query, or to works and users directly (payloads/ajax-illust).
    func caption(of post: Post) -> String {
        let lines = Words.list("captions")
        if Landmarks.mark(post.slot, service)?.node["caption"].flag == true {
            return lines.joined(separator: "<br />")
        }
        var chance = chance(0x12, post.id)
        guard !chance.oneIn(4) else { return "" }
        return (0..<chance.within(1...4)).map { _ in chance.pick(lines) }.joined(separator: "<br />")
    }

    /// An author's series of works, with the place of a comic in it.
    typealias Series = (id: Int, title: String, count: Int, order: Int, started: Int64)

    /// The series of a comic; nil for a work outside any series.
    func series(of post: Post) -> Series? {
        if post.flags.contains(.series) {
            return (777, "三部作", 3, 2, post.seconds)
        }
        var chance = chance(0x72, post.id)
        guard post.kind == .manga, chance.oneIn(2) else { return nil }
        let count = chance.within(2...180)
        let started = service.begin(of: service.firstDay) - Int64(chance.below(86_400))
        return (chance.within(1000...200_000), Self.title(&chance), count, chance.within(1...count), started)
    }

    /// The duration of each frame of an animation in milliseconds: 60 to 120, and 300 for some.
    func delays(of post: Post) -> [Int] {
        guard !service.isBoard else { return Array(repeating: Model.frameDelay, count: Model.frames) }
        var chance = chance(0x16, post.id)
        let drawn = Int64(chance.within(8...40))
        let count = Landmarks.mark(post.slot, service)?.node["frames"].number ?? drawn
        return (0..<count).map { _ in chance.oneIn(9) ? 300 : chance.within(6...12) * 10 }
    }

    /// The tags of a post, as indices into ``tags``; on boards in the order of their names, as both databases sort them.
    func tags(of post: Post) -> [Int] {
        guard service.isBoard else { return workTags(post) }
        var chance = chance(0x7a6, post.id)
        var found: Set<Int> = []
        switch chance.below(20) {
        case 0: break
        case 1: found.formUnion([chance.pick(tags.artists), chance.pick(tags.artists)])
        default:
            let isBusy = chance.oneIn(40)
            found.insert(isBusy ? tags.place(Landmarks.busyArtist) : chance.pick(tags.artists))
        }
        if chance.oneIn(5) {
            found.insert(tags.place("original"))
        } else {
            let series = chance.below(tags.copyrights.count)
            found.insert(tags.copyrights[series])
            let people = tags.characters[series]
            for _ in 0..<min(people.count, [0, 1, 1, 1, 2, 3][chance.below(6)]) { found.insert(chance.pick(people)) }
        }
        for _ in 0..<chance.within(4...24) { found.insert(chance.pick(tags.general)) }
        if chance.oneIn(40) { found.insert(chance.pick(tags.hostile)) }
        if service == .danbooru {
            let size = post.pages[0]
            if max(size.width, size.height) >= 1600 { found.insert(tags.place("highres")) }
            if !post.format.isStill { found.insert(tags.place("animated")) }
            if chance.oneIn(2) { found.insert(chance.pick(tags.meta)) }
        }
        Landmarks.furnish(&found, post, self)
        if post.flags.contains(.banned) { found.insert(tags.place("banned_artist")) }
        return found.sorted { tags.all[$0].name < tags.all[$1].name }
    }

    private func workTags(_ post: Post) -> [Int] {
        if let (_, mark) = Landmarks.mark(post.slot, service) {
            return mark["tags"].elements.compactMap(\.string).map(tags.place)
        }
        var chance = chance(0x73, post.id)
        var names: [String] = post.rating == .explicit ? [post.flags.contains(.grotesque) ? "R-18G" : "R-18"] : []
        if post.kind != .illustration { names.append(post.kind == .manga ? "漫画" : "うごイラ") }
        var found = names.map(tags.place)
        for _ in 0..<chance.within(1...8) {
            let tag = chance.pick(tags.general)
            if !found.contains(tag) { found.append(tag) }
        }
        if chance.oneIn(3) { found.append(chance.pick(tags.meta)) }
        return found
    }
}

/// A tag with its kind.
struct Tag: Hashable, Sendable {
    let name: String
    let kind: Kind

    /// The kind of a tag, by its name in the lists.
    enum Kind: String, CaseIterable, Sendable {
        case general, artist, copyright, character, meta
    }
}

/// All tags of a kind of service, in a table that is made once and is the same for every seed.
struct TagTable: Sendable {
    /// All tags, each name once.
    private(set) var all: [Tag] = []
    /// Indices into ``all`` by name.
    private var places: [String: Int] = [:]
    /// Indices of the tags of ordinary posts, by kind.
    private(set) var general: [Int] = []
    private(set) var artists: [Int] = []
    private(set) var meta: [Int] = []
    /// Indices of the copyrights, and of the characters of each.
    private(set) var copyrights: [Int] = []
    private(set) var characters: [[Int]] = []
    /// Tags that are hard to put into file names, all of kinds that occur on the real sites.
    private(set) var hostile: [Int] = []

    static let pixiv: TagTable = {
        var table = TagTable()
        table.general = Words.list("titles.words").compactMap { table.add($0, .general) }
        table.meta = [100, 1000, 5000, 10000].compactMap { table.add("オリジナル\($0)users入り", .meta) }
        for name in ["うごイラ", "R-18", "R-18G", "見本", Landmarks.rareTag] { _ = table.add(name, .general) }
        return table
    }()

    static let boards: TagTable = {
        var table = TagTable()
        var chance = Chance(0x7a95)
        func pen() -> String {
            (0..<chance.within(2...4)).map { _ in chance.pick(Words.list("tags.syllables")) }.joined()
        }
        let words = Words.list("tags.words")
        table.general = words.compactMap { table.add($0, .general) }
        table.meta = Words.list("tags.metaWords").compactMap { table.add($0, .meta) }
        for _ in 0..<700 {
            let name = pen() + chance.pick(["", "", "", "", "_(\(pen()))", "\(chance.below(9999))"])
            if let place = table.add(name, .artist) { table.artists.append(place) }
        }
        for _ in 0..<70 {
            let title = "\(chance.pick(words))_\(pen())" + ["!", "_(series)", "", "", "", "", "", ""][chance.below(8)]
            guard let place = table.add(title, .copyright) else { continue }
            table.copyrights.append(place)
            table.characters.append(
                (0..<5).compactMap { table.add(pen() + "_" + ($0 % 2 == 0 ? pen() : "(\(title))"), .character) })
        }
        table.hostile = Words.all["tags.hostile"].elements.compactMap { pair in
            guard let name = pair.elements.first?.string, let kind = pair.elements.last?.string.flatMap(Tag.Kind.init)
            else { return nil }
            return table.add(name, kind)
        }
        _ = table.add("original", .copyright)
        for name in ["banned_artist", Landmarks.busyArtist] { _ = table.add(name, .artist) }
        _ = table.add(Landmarks.slowTag, .general)
        return table
    }()

    /// The index of a name that is in the table.
    func place(_ name: String) -> Int { places[name] ?? 0 }

    /// The index of a name; nil for an unknown one.
    func find(_ name: some StringProtocol) -> Int? { places[name.lowercased()] ?? places[String(name)] }

    /// Adds a tag and returns its index; nil for a name that is in the table.
    private mutating func add(_ name: String, _ kind: Tag.Kind) -> Int? {
        guard places[name] == nil else { return nil }
        places[name] = all.count
        all.append(Tag(name: name, kind: kind))
        return all.count - 1
    }
}
