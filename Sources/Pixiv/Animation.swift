/// An animation's frames (`/ajax/illust/<id>/ugoira_meta`).
package struct Animation: Hashable, Sendable {
    /// A JPEG in the archive and how long it is shown, in milliseconds.
    package struct Frame: Hashable, Sendable {
        package let file: String
        package let delay: Int
    }

    package let frames: [Frame]
    /// Frames that made no sense and were left out.
    package let unreadable: Int

    /// Longest time that a frame is shown, in milliseconds; more is a slip.
    private static let longestDelay: Int64 = 600_000

    /// Nil if no frame is told.
    package init?(_ body: JSON) {
        let told = body["frames"].elements
        frames = told.compactMap { frame in
            guard let file = frame["file"].text, Self.isFrameName(file),
                let delay = frame["delay"].number(in: 0...Self.longestDelay)
            else { return nil }
            return Frame(file: file, delay: Int(delay))
        }
        unreadable = told.count - frames.count
        if frames.isEmpty { return nil }
    }

    /// `000000.jpg`: six digits, as in every archive seen.
    private static func isFrameName(_ name: String) -> Bool {
        name.utf8.count == 10 && name.hasSuffix(".jpg")
            && name.utf8.prefix(6).allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
