/// Which file a post has: a model, how much padding, and a tail that no other post has.
struct ServedPostFile: Sendable {
    /// Of ``PostModel/all``.
    var model: Int
    /// At most ``DrawnModel/levels``.
    var level: Int
    /// Bytes of noise in the tail.
    var noise: Int
    /// Which post of which site and universe it is.
    let salt: UInt64

    /// What stands behind the padding in a file of a format.
    func tail(_ format: ServedFormat) -> [UInt8] {
        var payload: [UInt8] = []
        payload.reserveCapacity(Padding.piece)
        payload += Self.name
        for index in 0..<16 {
            let digit = UInt8(truncatingIfNeeded: salt >> (UInt64(index) * 4)) & 15
            payload.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
        if Padding.isFixed(format) {
            payload += [UInt8](repeating: 0x20, count: DrawnModel.emptyPayload.count - payload.count)
        } else {
            payload += Padding.noise(noise, salt: salt)
        }
        return Padding.unit(format, payload) + Padding.closing(format)
    }

    /// Most bytes of noise: with them a tail is a few blocks of the digest.
    static let mostNoise = 60

    private static let name = Array("rankfs ".utf8)
}
