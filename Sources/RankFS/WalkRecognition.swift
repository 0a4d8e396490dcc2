import Rankings

/// Tells a walk over a directory from a single `stat`, so that sizes are asked a directory at a time or one by one.
///
/// `ls -l` reads the directory and stats entries while it is open; programs that were given names stat one after the
/// other. Either is a walk: every further size will be wanted too.
struct WalkRecognition: Sendable {
    /// Open directory handles that were read from, by what they show.
    private var readers: [ListingKey: Int] = [:]
    /// Open directory handles of programs that only glance: what they ask for is worth no more than it costs.
    private var glances: [ListingKey: Int] = [:]
    /// The directory of the last size that had to be asked.
    private var last: ListingKey?

    /// A directory handle is read from for the first time.
    mutating func beganReading(_ directory: ListingKey, isGlance: Bool = false) {
        if isGlance { glances[directory, default: 0] += 1 } else { readers[directory, default: 0] += 1 }
    }

    /// A directory handle that was read from is closed.
    mutating func endedReading(_ directory: ListingKey, isGlance: Bool = false) {
        let path = isGlance ? \Self.glances : \Self.readers
        guard let count = self[keyPath: path][directory] else { return }
        self[keyPath: path][directory] = count > 1 ? count - 1 : nil
    }

    /// A size in this directory must be asked: whether all of them should be.
    mutating func askedSize(in directory: ListingKey) -> Bool {
        defer { last = directory }
        return readers[directory] != nil || last == directory && glances[directory] == nil
    }
}
