import Render

/// Bounds of an animation, whatever it is made into.
package enum FrameLimits {
    /// Most frames of an animation.
    ///
    /// The service takes 150 from its users; the rest is room for what it may take one day.
    package static let count = Film.mostFrames
    /// Shortest time that a frame is shown, in milliseconds.
    ///
    /// Two frames must not begin at the same time: players drop one of them or stop there. 10 ms is GIF's unit of time
    /// and less than a screen's refresh, so nobody sees the difference.
    package static let shortestDelay = 10
    /// Longest time that a frame is shown, in milliseconds; more is a slip.
    ///
    /// 2000 such frames still fit the 31 bits of milliseconds that some players count in.
    package static let longestDelay = 600_000
    /// Longest side of a picture, in pixels (ITU-T T.81, B.2.2: 16 bits).
    package static let longestSide = 65_535

    /// How long a frame is shown that is to be shown for `delay` milliseconds.
    package static func shown(_ delay: Int) -> Int {
        min(max(delay, shortestDelay), longestDelay)
    }
}
