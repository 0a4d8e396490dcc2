import Rankings

/// The frames of an animation: how many, and how long each is shown.
struct Animation: Sendable {
    /// Milliseconds of each frame.
    let delays: [Int]

    /// The animation of a work that is one.
    init(_ work: WorkRecord, seed: UInt64) {
        var chance = Chance(seed, 0x16, UInt64(bitPattern: work.id.rawValue))
        let drawn = chance.within(Self.counts)
        delays = (0..<(Landmarks.frames[work.id] ?? drawn)).map { _ in
            chance.oneIn(Self.pauseEvery) ? Self.pause : chance.within(Self.steps) * Self.step
        }
    }

    /// The name of a frame in the archive, counted from 0: `000000.jpg`.
    static func name(ofFrame index: Int) -> String {
        let digits = String(index)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits + ".jpg"
    }

    private static let counts = 8...40
    /// Tens of milliseconds: 60 to 120 ms.
    private static let steps = 6...12
    private static let step = 10
    /// Some frames stand still.
    private static let pause = 300
    private static let pauseEvery = 9
}
