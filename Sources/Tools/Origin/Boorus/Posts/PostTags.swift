extension PostUniverse {
    /// The tags of a post, as places in ``ServedTags/all``, in the order of their names.
    func tags(of post: ServedPost) -> [Int] {
        var chance = Chance(seed, 0x7a6, UInt64(bitPattern: post.id))
        var tags: Set<Int> = []
        switch chance.below(20) {
        case 0: break
        case 1: tags.formUnion([chance.pick(ServedTags.artists), chance.pick(ServedTags.artists)])
        default:
            let isBusy = chance.oneIn(Self.busyEvery)
            tags.insert(isBusy ? ServedTags.place(PostLandmark.busyArtist) : chance.pick(ServedTags.artists))
        }
        if chance.oneIn(5) {
            tags.insert(ServedTags.place("original"))
        } else {
            let series = chance.below(ServedTags.copyrights.count)
            tags.insert(ServedTags.copyrights[series])
            let people = ServedTags.characters[series]
            for _ in 0..<min(people.count, [0, 1, 1, 1, 2, 3][chance.below(6)]) { tags.insert(chance.pick(people)) }
        }
        for _ in 0..<chance.within(4...24) { tags.insert(chance.pick(ServedTags.general)) }
        if chance.oneIn(Self.hostileEvery) {
            let tag = chance.pick(ServedTags.hostile)
            tags.insert(ServedTags.place(tag.name))
        }
        if site.isDanbooru { tags.formUnion(meta(post, &chance)) }
        furnish(&tags, post)
        // names are in the order of their bytes, as both databases sort them
        return tags.sorted { ServedTags.all[$0].name < ServedTags.all[$1].name }
    }

    // MARK: -

    private static let busyEvery = 40
    private static let hostileEvery = 40

    private func meta(_ post: ServedPost, _ chance: inout Chance) -> [Int] {
        var names: [String] = []
        if max(post.pixels.width, post.pixels.height) >= 1600 { names.append("highres") }
        if !post.format.isStill { names.append("animated") }
        if post.isBanned { names.append("banned_artist") }
        return names.map(ServedTags.place) + (chance.oneIn(2) ? [chance.pick(ServedTags.meta)] : [])
    }

    /// Gives a landmark the tags that it is for.
    private func furnish(_ tags: inout Set<Int>, _ post: ServedPost) {
        guard let mark = PostLandmark(post.slot, site) else { return }
        let all = ServedTags.all
        func only(_ kind: ServedTag.Kind, _ names: Int...) {
            tags = tags.filter { all[$0].kind != kind }.union(names)
        }
        switch mark {
        case .withoutArtist: only(.artist)
        case .threeArtists: only(.artist, ServedTags.artists[0], ServedTags.artists[1], ServedTags.artists[2])
        case .hostileTags: tags = Set(ServedTags.hostile.map { ServedTags.place($0.name) })
        case .manyTags:
            tags.formUnion(ServedTags.general)
            tags.formUnion(ServedTags.characters.joined())
        default:
            only(.artist, ServedTags.artists[mark.rawValue])
            only(.copyright, ServedTags.copyrights[0])
            only(.character, ServedTags.characters[0][0])
        }
        if post.isBanned { tags.insert(ServedTags.place("banned_artist")) }
        if mark == .plain, site.isDanbooru { tags.insert(ServedTags.place("highres")) }
    }
}
