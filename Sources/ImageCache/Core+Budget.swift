extension Core {
    /// Bytes that stored pictures, downloads and unfinished ones take or will take.
    var committedBytes: Int64 {
        index.bytes + downloads.values.reduce(0) { $0 + $1.reserved } + parked.values.reduce(0, +)
    }

    /// Makes room under the byte budget: unfinished downloads first, then the least recently used pictures.
    ///
    /// - Returns: Whether so many bytes more fit now. Readers go on regardless: what is open may exceed the budget.
    @discardableResult
    mutating func makeRoom(for bytes: Int64, isPreload: Bool) -> Bool {
        while parked.count > Self.mostPartials { dropPartial() }
        var excess = committedBytes + bytes - configuration.budget
        if excess <= 0 { return true }
        // What cannot be kept must not push out what is, nor a preload what another preload just brought.
        if bytes > 0, evictableBytes(sparesUnread: isPreload) + parked.values.reduce(0, +) < excess { return false }
        while excess > 0, !parked.isEmpty {
            dropPartial()
            excess = committedBytes + bytes - configuration.budget
        }
        evict(excess, sparesUnread: isPreload)
        return committedBytes + bytes <= configuration.budget
    }

    /// Counts what a download will take; one that cannot be kept takes nothing, and is served all the same.
    mutating func reserve(_ bytes: Int64, for key: FileKey) {
        guard let isRead = downloads[key]?.flight.isRead else { return }
        downloads[key]?.reserved = 0
        if diskLack <= 0, makeRoom(for: bytes, isPreload: !isRead) {
            downloads[key]?.reserved = bytes
        }
    }

    /// Lets the least recently used pictures go on a full disk, if a download can then be kept.
    ///
    /// - Returns: What is to be removed at once.
    mutating func giveWay(to key: FileKey) -> [FileKey] {
        guard let flight = downloads[key]?.flight else { return [] }
        let missing = max(0, (flight.total ?? Self.assumedLength) - flight.received)
        return giveWay(missing, sparesUnread: !flight.isRead)
    }

    /// Lets the least recently used pictures go on a full disk, unless so many bytes would still find no room.
    mutating func giveWay(_ bytes: Int64, sparesUnread: Bool) -> [FileKey] {
        let wanted = bytes + Self.roomBeside
        guard evictableBytes(sparesUnread: sparesUnread) >= wanted else { return [] }
        return evictNow(wanted, sparesUnread: sparesUnread)
    }

    /// What a new picture's row and directory take beside it, in bytes.
    private static let roomBeside: Int64 = 256 << 10

    private func evictableBytes(sparesUnread: Bool) -> Int64 {
        if sparesUnread { return index.evictableBytes(sparesUnread: true) { isOpen($0) } }
        let open = Set(openCounts.keys).union(downloads.keys)
        return index.bytes - index.pinnedBytes
            - open.reduce(0) { sum, key in
                sum + (index[key].map { $0.isPinned ? 0 : $0.cost } ?? 0)
            }
    }

    /// The disk has so many bytes free: evicts down to the floor.
    mutating func diskHas(free: Int64) {
        let lacking = configuration.freeFloor - free
        let evicted = evict(lacking, sparesUnread: false)
        let wasLow = diskLack > 0
        diskLack = max(0, lacking - evicted)
        if diskLack > 0 {
            wishes = []
            refused("the disk has less than \(configuration.freeFloor) bytes free")
        } else if wasLow {
            stores()
        }
    }

    /// Evicts what became free to go when a reader left.
    mutating func trim() {
        makeRoom(for: 0, isPreload: false)
        diskLack -= evict(diskLack, sparesUnread: false)
        diskLack = max(0, diskLack)
    }

    @discardableResult
    private mutating func evict(_ bytes: Int64, sparesUnread: Bool) -> Int64 {
        let before = index.bytes
        _ = evictNow(bytes, sparesUnread: sparesUnread)
        return before - index.bytes
    }

    private mutating func evictNow(_ bytes: Int64, sparesUnread: Bool) -> [FileKey] {
        guard bytes > 0 else { return [] }
        let open = openCounts
        let downloading = Set(downloads.keys)
        let victims = index.evict(bytes: bytes, sparesUnread: sparesUnread) {
            open[$0] != nil || downloading.contains($0)
        }
        guard !victims.isEmpty else { return [] }
        let freed = victims.reduce(Int64(0)) { $0 + $1.entry.cost }
        evictedCount += victims.count
        effects.append(.remove(victims.map(\.key)))
        effects.append(.report(.evicted(count: victims.count, bytes: freed)))
        return victims.map(\.key)
    }

    private mutating func dropPartial() {
        guard let key = parked.keys.first else { return }
        parked[key] = nil
        effects.append(.removePartial(key))
    }

    /// The disk refused; told once until it takes pictures again.
    mutating func refused(_ reason: String) {
        guard isStoring else { return }
        isStoring = false
        effects.append(.report(.notStoring(reason: reason)))
    }

    mutating func stores() {
        guard !isStoring else { return }
        isStoring = true
        effects.append(.report(.storingAgain))
    }
}
