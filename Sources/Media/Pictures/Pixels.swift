/// An opaque picture in memory: rows of blue, green, red and an unused byte, without gaps.
package struct Pixels: Hashable, Sendable {
    package let width: Int
    package let height: Int
    package var bytes: [UInt8]

    /// Bytes of one pixel.
    package static let pixelBytes = 4

    /// A picture of one grey.
    package init(width: Int, height: Int, filledWith value: UInt8 = 0xff) {
        self.width = width
        self.height = height
        bytes = Array(repeating: value, count: width * height * Self.pixelBytes)
    }

    /// Bytes of one row.
    package var stride: Int {
        width * Self.pixelBytes
    }

    /// Sets a pixel, which must lie within.
    package mutating func set(_ x: Int, _ y: Int, red: UInt8, green: UInt8, blue: UInt8) {
        let at = y * stride + x * Self.pixelBytes
        bytes[at] = blue
        bytes[at + 1] = green
        bytes[at + 2] = red
        bytes[at + 3] = 0xff
    }
}
