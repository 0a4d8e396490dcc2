internal import HTTP
internal import ImageHost
internal import Rankings

extension Core {
    /// Carries out what the scheduler orders until nothing is left to do.
    mutating func pump(now: ContinuousClock.Instant) {
        guard !isClosed else { return }
        reviewWishes(now: now)
        while true {
            let demands = downloads.map { $0.value.flight.demand($0.key, number: $0.value.number) }
            guard let order = scheduler.next(demands, wishes: mayBegin(now: now) ? wishes.count : 0) else { return }
            switch order {
            case .request(let key, let piece): request(piece, of: key, now: now)
            case .begin: beginWish(now: now)
            }
        }
    }

    private mutating func request(_ piece: Piece, of key: FileKey, now: ContinuousClock.Instant) {
        let id = makeID()
        guard let start = downloads[key]?.flight.begin(piece, id: id), let download = downloads[key] else { return }
        effects.append(
            .start(
                key, start.id,
                PictureSegment(
                    location: download.picture.location, range: start.asked, version: start.ifRange,
                    priority: download.priority, deadline: now + FlightLimits.requestDeadline)))
    }

    /// A request has been handed to the transport.
    mutating func started(_ segment: UInt64, of key: FileKey, _ transfer: any Transfer) {
        guard downloads[key]?.flight.segments[segment] != nil else { return effects.append(.cancel(transfer)) }
        downloads[key]?.transfers[segment] = transfer
        if let priority = downloads[key]?.priority { effects.append(.setPriority(transfer, priority)) }
    }

    mutating func updatePriority(_ key: FileKey) {
        guard let download = downloads[key] else { return }
        let priority: TransferPriority = download.flight.isRead ? .reader : .preload
        guard priority != download.priority else { return }
        downloads[key]?.priority = priority
        for transfer in download.transfers.values { effects.append(.setPriority(transfer, priority)) }
    }

    // MARK: - Wishes

    /// Carries out what the preload policy decided.
    mutating func follow(_ decision: PreloadPolicy.Decision, _ neighbours: Neighbours) {
        switch decision {
        case .nothing: break
        case .drop: wishes.removeAll { $0.directory == neighbours.directory }
        case .plan(let places): effects.append(.planPreloads(neighbours, places))
        }
    }

    /// Takes pictures to download ahead, in order, in place of what was wished for that directory.
    ///
    /// - Returns: Those of them that are stored, which the disk may read ahead, and whether each is still to be verified.
    @discardableResult
    mutating func wish(
        _ pictures: [PictureRequest], directory: UInt64, now: ContinuousClock.Instant
    ) -> [StoredWish] {
        wishes.removeAll { $0.directory == directory }
        wishes += pictures.map { (directory, $0) }
        pump(now: now)
        return pictures.compactMap { picture in
            let key = FileKey(picture.id)
            return index[key].map { StoredWish(id: picture.id, key: key, isVerified: $0.isVerified) }
        }
    }

    /// What a wish that is stored turned out to be.
    mutating func verified(_ wish: StoredWish, _ result: Store.Opened) {
        switch result {
        case .file(_, let length):
            if index[wish.key]?.length == length { index.setVerified(wish.key) }
        case .broken(let reason):
            // The file is gone; a download that began meanwhile writes its own.
            index.remove(wish.key)
            effects.append(.remove([wish.key]))
            effects.append(.report(.removedBroken(wish.id, reason: reason)))
        case .missing, .failed: break
        }
    }

    /// Ends what was downloaded ahead of bulk walks that have ended, but for as much as an ordinary reader has ahead.
    mutating func endRestedWalks(now: ContinuousClock.Instant) {
        for directory in preload.rested(now: now) {
            wishes.removeAll { $0.directory == directory }
            let unread = downloads.filter {
                $0.value.walk == directory && $0.value.flight.phase == .running && !$0.value.flight.isRead
            }
            for (key, _) in unread.sorted(by: { $0.value.number < $1.value.number }).dropFirst(preload.ordinary) {
                downloads[key]?.flight.isPreload = false
                release(key, now: now)
            }
        }
    }

    /// Forgets wishes that are void: pictures that are here, that failed a moment ago, or that nobody may download ahead now.
    private mutating func reviewWishes(now: ContinuousClock.Instant) {
        guard !wishes.isEmpty else { return }
        guard configuration.mayPreload() else {
            wishes = []
            return
        }
        wishes = wishes.filter { wish in
            let key = FileKey(wish.picture.id)
            return index[key] == nil && downloads[key] == nil && failure(of: key, now: now) == nil
        }
    }

    private func mayBegin(now: ContinuousClock.Instant) -> Bool {
        isStoring && preloadsRestUntil.map { $0 <= now } ?? true
    }

    /// Begins a download for the first wish, unless there is no room for it.
    private mutating func beginWish(now: ContinuousClock.Instant) {
        guard !wishes.isEmpty else { return }
        let (directory, picture) = wishes.removeFirst()
        // Another directory may have wished for the same one.
        guard downloads[FileKey(picture.id)] == nil else { return }
        guard makeRoom(for: picture.size ?? Self.assumedLength, isPreload: true) else { return }
        _ = begin(picture, walk: directory, now: now)
    }
}

/// A wish to preload that is stored already.
struct StoredWish: Equatable, Sendable {
    let id: PictureID
    let key: FileKey
    /// Whether its file has been hashed since the start.
    let isVerified: Bool
}

extension Flight {
    /// What a request still has to bring, as the scheduler counts it.
    private func load(_ segment: Segment) -> Int64 {
        let end = min(segment.end, total ?? segment.next + Core.assumedLength)
        return max(0, end - segment.next) + (segment.hasAnswer ? 0 : DownloadScheduler.latency)
    }

    /// What the scheduler is told of it.
    func demand(_ key: FileKey, number: UInt64) -> DownloadScheduler.Download {
        DownloadScheduler.Download(
            key: key, number: number, requests: segments.values.map(load), isRead: isRead, isAwaited: !waiters.isEmpty,
            hasAnswer: hasAnswer, awaited: awaitedPiece, wanted: wantedPiece, spare: sparePiece, total: total)
    }
}
