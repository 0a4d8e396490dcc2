internal import HTTP
internal import ImageHost
internal import Rankings

extension Core {
    /// Carries out what the scheduler orders until nothing is left to do.
    mutating func pump(now: ContinuousClock.Instant) {
        guard !isClosed else { return }
        reviewWishes(now: now)
        while true {
            let wishes = budget.isStoring ? scheduler.ready(now: now) : 0
            guard let order = scheduler.next(downloads.demands, others: others.account, wishes: wishes) else { return }
            switch order {
            case .request(let key, let piece): request(piece, of: key, now: now)
            case .giveUp(let key, let id): apply(downloads[key]?.download.giveUp(id), to: key, now: now)
            case .takeBack(let id):
                if let request = others.takeBack(id) { effects.append(.takeBack(request, id)) }
            case .grant:
                let id = makeID()
                if let request = others.grant(id) { effects.append(.send(request, id)) }
            case .begin: beginWish(now: now)
            }
        }
    }

    private mutating func request(_ piece: Piece, of key: FileKey, now: ContinuousClock.Instant) {
        let id = makeID()
        guard let start = downloads[key]?.download.begin(piece, id: id), let entry = downloads[key] else { return }
        let transfer = StartedTransfer(entry.priority)
        downloads[key]?.transfers[start.id] = transfer
        effects.append(
            .start(
                key, start.id,
                PictureSegment(
                    location: entry.picture.location, range: start.asked, version: start.ifRange,
                    priority: entry.priority, deadline: now + DownloadLimits.requestDeadline),
                transfer, entry.file))
    }

    /// Tells the transport who waits for a download's requests.
    mutating func updatePriority(_ key: FileKey) {
        guard let entry = downloads[key] else { return }
        let priority: TransferPriority = entry.download.isRead ? .reader : .preload
        guard priority != entry.priority else { return }
        downloads[key]?.priority = priority
        for transfer in entry.transfers.values { effects.append(.setPriority(transfer, priority)) }
    }

    // MARK: - Wishes

    /// Carries out what the preload policy decided.
    mutating func follow(_ decision: PreloadPolicy.Decision, _ neighbours: Neighbours) {
        switch decision {
        case .nothing: break
        case .drop: scheduler.dropWishes(of: neighbours.directory)
        case .plan(let places): effects.append(.planPreloads(neighbours, places))
        }
    }

    /// Takes pictures to download ahead, in order, in place of what was wished for that directory.
    ///
    /// - Returns: Those of them that are stored: the disk may read them ahead.
    @discardableResult
    mutating func wish(
        _ pictures: [PictureRequest], directory: UInt64, now: ContinuousClock.Instant
    ) -> [FileKey] {
        scheduler.wish(pictures, directory: directory)
        pump(now: now)
        return pictures.map { FileKey($0.id) }.filter { index[$0] != nil }
    }

    /// Forgets wishes that are void: pictures that are here, that failed a moment ago, or that nobody may download ahead now.
    private mutating func reviewWishes(now: ContinuousClock.Instant) {
        guard !scheduler.wishes.isEmpty else { return }
        guard configuration.mayPreload() else { return scheduler.dropWishes() }
        let (index, downloads, failures) = (index, downloads, failures)
        scheduler.dropWishes { wish in
            let key = FileKey(wish.picture.id)
            return index[key] != nil || downloads[key] != nil || failures.failure(of: key, now: now) != nil
        }
    }

    /// Begins a download for the first wish, unless there is no room for it.
    private mutating func beginWish(now: ContinuousClock.Instant) {
        // Another directory may have wished for the same one.
        guard let wish = scheduler.takeWish(), downloads[FileKey(wish.picture.id)] == nil else { return }
        let bytes = wish.picture.size ?? Self.assumedLength
        let hasRoom = account { budget, index, inUse in
            budget.makeRoom(for: bytes, isPreload: true, in: &index, inUse: inUse)
        }
        if hasRoom { _ = begin(wish.picture, walk: wish.directory, now: now) }
    }
}
