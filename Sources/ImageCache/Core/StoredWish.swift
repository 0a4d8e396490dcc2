internal import Rankings

/// A wish to preload that is stored already.
struct StoredWish: Equatable, Sendable {
    let id: PictureID
    let key: FileKey
    /// Whether its file has been hashed since the start.
    let isVerified: Bool
}

/// What the disk reads ahead, as the network does what is missing.
extension Core {
    /// Takes pictures to download ahead, in order, in place of what was wished for that directory.
    ///
    /// - Returns: Those of them that are stored, which the disk may read ahead.
    mutating func plan(
        _ pictures: [PictureRequest], directory: UInt64, now: ContinuousClock.Instant
    ) -> [StoredWish] {
        wish(pictures, directory: directory, now: now)
        return pictures.compactMap { picture in
            let key = FileKey(picture.id)
            return index[key].map { StoredWish(id: picture.id, key: key, isVerified: $0.isVerified) }
        }
    }

    /// What a wish that is stored turned out to be.
    mutating func verified(_ wish: StoredWish, _ result: PictureStore.Opened) {
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
}
