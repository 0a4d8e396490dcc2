import Rankings

/// Tells a walk over a directory from a single `stat`, so that sizes are asked a directory at a time or one by one.
///
/// `ls -l` reads the directory and stats entries while it is open; programs that were given names stat one after the
/// other. Either is a walk: every further size will be wanted too.
struct WalkRecognition: Sendable {
    /// Who reads a directory.
    enum Reader: Hashable, Sendable {
        case person
        /// A program on its way over the tree.
        case walker
        /// A file manager that counts or previews: what it asks for is worth no more than it costs.
        case glance
    }

    /// Open directory handles that were read from, by what they show and by whom.
    private var readers: [ListingKey: [Reader: Int]] = [:]
    /// The directory of the last size that had to be asked.
    private var last: ListingKey?

    /// A directory handle is read from for the first time.
    mutating func beganReading(_ directory: ListingKey, by reader: Reader = .person) {
        readers[directory, default: [:]][reader, default: 0] += 1
    }

    /// A directory handle that was read from is closed.
    mutating func endedReading(_ directory: ListingKey, by reader: Reader = .person) {
        guard let count = readers[directory]?[reader] else { return }
        readers[directory]?[reader] = count > 1 ? count - 1 : nil
        if readers[directory]?.isEmpty == true { readers[directory] = nil }
    }

    /// A size in this directory must be asked: whether all of them should be.
    mutating func askedSize(in directory: ListingKey) -> Bool {
        defer { last = directory }
        guard let readers = readers[directory] else { return last == directory }
        return readers[.person] != nil || readers[.walker] != nil
    }

    /// For whom a size in a directory is asked: for a person, unless only programs read it.
    ///
    /// - Parameters:
    ///   - directory: The directory.
    ///   - isGlance: Whether who asks was seen to count or preview it: any other program is not among those that do.
    /// - Returns: For whom.
    func asker(in directory: ListingKey, isGlance: Bool) -> Reader {
        guard let readers = readers[directory], readers[.person] == nil else { return .person }
        return readers[.walker] != nil ? .walker : isGlance ? .glance : .person
    }
}
