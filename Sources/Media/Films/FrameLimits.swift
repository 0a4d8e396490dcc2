import Render

/// Bounds of an animation in any format.
package enum FrameLimits {
    /// The most frames of an animation.
    ///
    /// The service accepts 150 from its users; the rest is room for later limits of the service.
    package static let count = Film.mostFrames
    /// The shortest time that a frame is shown, in milliseconds.
    ///
    /// Two frames must not begin at the same time: players drop one of them or stop there. 10 ms is GIF's unit of time and less
    /// than a screen's refresh, so the difference is invisible.
    package static let shortestDelay = 10
    /// The longest time that a frame is shown, in milliseconds; a longer time is an error of the record.
    ///
    /// 2000 such frames still fit the 31 bits of milliseconds that some players count in.
    package static let longestDelay = 600_000
    /// The longest side of a picture, in pixels (ITU-T T.81, B.2.2: 16 bits).
    package static let longestSide = 65_535

    /// The time that a frame with this recorded delay is shown; both in milliseconds.
    package static func shown(_ delay: Int) -> Int {
        min(max(delay, shortestDelay), longestDelay)
    }
}
