internal import Rankings

/// Pictures that are stored, as readers find them.
extension Core {
    /// The version that an open picture has bytes of or would be given now; nil if only an answer can tell.
    mutating func version(of id: UInt64) -> PictureVersion? {
        guard let handle = pictures[id] else { return nil }
        if let version = handle.version { return version }
        if let download = downloads[handle.key]?.download { return download.received > 0 ? download.version : nil }
        if !handle.avoidsStore, let version = storedVersion(of: handle.key) { return version }
        return pictures.keptVersion(of: handle.key)
    }

    /// The version that is stored, which gets a name when somebody asks for it first.
    mutating func storedVersion(of key: FileKey) -> PictureVersion? {
        guard let entry = index[key] else { return nil }
        if let version = entry.version { return version }
        let version = PictureVersion(token: makeID())
        index.setVersion(version, of: key)
        return version
    }

    /// What opening a stored file gave.
    mutating func opened(_ id: UInt64, _ result: PictureStore.Opened) -> ImageCacheError? {
        guard let handle = pictures[id] else { return .cancelled }
        switch result {
        case .file(let file, let length):
            if let size = handle.picture.size, size != length {
                forgetStored(handle.key)
                effects.append(
                    .report(.removedBroken(handle.picture.id, reason: "it has \(length) bytes, not \(size)")))
                return nil
            }
            if index[handle.key]?.length != length { index.remove(handle.key) }
            if index[handle.key] == nil { _ = index.adopt(handle.key, length: length) }
            let version = storedVersion(of: handle.key)
            if let mismatch = handle.mismatch(with: version) { return mismatch }
            touch(handle.key)
            pictures[id]?.file = file
            pictures[id]?.length = length
            pictures[id]?.version = handle.version ?? version
        case .missing:
            forgetStored(handle.key)
        case .broken(let reason):
            forgetStored(handle.key)
            effects.append(.report(.removedBroken(handle.picture.id, reason: reason)))
        case .failed(let error):
            // It may be good: what is wrong may be the number of open files.
            pictures[id]?.avoidsStore = true
            refused("a stored picture cannot be opened (\(error.text))")
        }
        return nil
    }

    /// Takes note of a use; many are written at once, and few after a while.
    private mutating func touch(_ key: FileKey) {
        index.touch(key, now: configuration.now())
        touches += 1
        if touches == 1 { effects.append(.writeIndexLater) }
        if touches == Self.touchesTogether { effects.append(.writeIndex) }
    }

    private mutating func forgetStored(_ key: FileKey) {
        guard index.remove(key) != nil else { return }
        effects.append(.remove([key]))
    }
}
