/// Which file a post has: a model, how much padding, and a tail that no other post has.
struct PostFile: Sendable {
    /// Of ``PostModel/all``.
    var model: Int
    /// At most ``DrawnModel/levels``.
    var level: Int
    /// Bytes of noise in the tail.
    var noise: Int
    /// Which post of which site and universe it is.
    let salt: UInt64

    /// What stands behind the padding.
    var tail: [UInt8] {
        let format = PostModel.all[model].format
        var payload = Array("rankfs ".utf8) + Self.digits(salt)
        if PostPadding.isFixed(format) {
            payload += [UInt8](repeating: 0x20, count: DrawnModel.emptyPayload.count - payload.count)
        } else {
            payload += PostPadding.noise(noise, salt: salt)
        }
        return PostPadding.unit(format, payload) + PostPadding.closing(format)
    }

    /// Most bytes of noise: with them a tail is a few blocks of the digest.
    static let mostNoise = 200

    private static func digits(_ number: UInt64) -> [UInt8] {
        (0..<16).map { index in
            let digit = UInt8(truncatingIfNeeded: number >> (UInt64(index) * 4)) & 15
            return digit < 10 ? 0x30 + digit : 0x57 + digit
        }
    }
}
