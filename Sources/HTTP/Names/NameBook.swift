/// What is known of names, and which are being looked up; told the time, never asking it.
///
/// Addresses are used for a minute without asking again. After that they are still used, for ten minutes in all, while the
/// name is looked up anew: who has a connection needs no address, and a resolver that hangs must not stop him.
struct NameBook {
    /// What somebody who needs addresses has to do.
    enum Answer: Equatable {
        /// Use these; look the name up besides if told.
        case known([String], looksUp: Bool)
        /// Wait for the look-up; begin it if told.
        case wait(looksUp: Bool)
    }

    private struct Entry {
        var addresses: [String]
        var learned: ContinuousClock.Instant
    }

    /// How long addresses are used without asking again: what libcurl does with its own.
    static let freshFor = Duration.seconds(60)
    /// How long they are used at all.
    static let usableFor = Duration.seconds(600)
    /// Names kept; there are as many as hosts that may be asked, and a proxy.
    static let namesLimit = 64

    private var entries: [String: Entry] = [:]
    private var underway: Set<String> = []

    /// Asks for a name's addresses.
    mutating func ask(_ name: String, now: ContinuousClock.Instant) -> Answer {
        if let entry = entries[name] {
            let age = now - entry.learned
            if age <= Self.freshFor { return .known(entry.addresses, looksUp: false) }
            if age <= Self.usableFor { return .known(entry.addresses, looksUp: underway.insert(name).inserted) }
        }
        return .wait(looksUp: underway.insert(name).inserted)
    }

    /// Takes in the end of a look-up; what is known stays if it failed.
    mutating func found(_ name: String, _ addresses: [String]?, now: ContinuousClock.Instant) {
        underway.remove(name)
        guard let addresses else { return }
        if entries[name] == nil, entries.count >= Self.namesLimit { entries = [:] }
        entries[name] = Entry(addresses: addresses, learned: now)
    }

    /// Forgets addresses at which nobody answered.
    mutating func doubt(_ name: String) {
        entries[name] = nil
    }
}
