import Rankings

/// What was added to works later: each from a stream of its own, so that nothing older has changed.
extension Universe {
    /// Sets what follows from a work's slot and number.
    func dress(_ work: inout WorkRecord, _ slot: Slot) {
        let mode: ServedMode? = if case .ranking(_, let mode, _) = slot { Self.rankingModes[mode] } else { nil }
        if let mode, mode.needsSignIn { work.xRestrict = mode.name == Self.grotesque ? 2 : 1 }
        if work.xRestrict > 0 { work.tags.insert(work.xRestrict > 1 ? "R-18G" : "R-18", at: 0) }
        work.aiType = aiType(work, mode: mode)
        work.hasBrokenOriginal = Landmarks.isBroken(slot, work.id)
        Landmarks.furnish(&work)
    }

    /// 0 where nobody was asked yet, 1 for drawn by hand, 2 for made with AI.
    private func aiType(_ work: WorkRecord, mode: ServedMode?) -> Int {
        guard work.uploaded.day >= Self.askedSince else { return 0 }
        if mode?.isAI == true { return 2 }
        var chance = Chance(seed, 0x11, UInt64(bitPattern: work.id.rawValue))
        return chance.oneIn(Self.aiEvery) ? 2 : 1
    }

    /// How many ranks a mode has: 500, 100 for R-18, 50 for R-18G.
    static func ranks(ofMode index: Int) -> Int {
        let mode = rankingModes[index]
        return mode.name == grotesque ? 50 : mode.needsSignIn ? 100 : ranks
    }

    private static let grotesque = "r18g"
    /// The service asks since the day before its AI rankings began.
    private static let askedSince = Day(ordinal: 19_295)  // 2022-10-30
    /// Outside the AI rankings, one work in this many is made with AI.
    private static let aiEvery = 20
}

extension WorkRecord {
    /// Whether a viewer may know that the work exists but not see it.
    func isWithheld(from viewer: Viewer) -> Bool {
        !viewer.isSignedIn && (isMasked || xRestrict > 0)
    }
}
