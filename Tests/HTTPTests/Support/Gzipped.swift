/// Bodies as `gzip` writes them.
enum Gzipped {
    /// The text `hello`.
    static let hello: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0,
    ]

    /// 256 KiB of zeros.
    static let bomb: [UInt8] =
        [31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 237, 193, 49, 1, 0, 0, 0, 194, 160, 245, 79, 237, 109, 7, 160]
        + [UInt8](repeating: 0, count: 254) + [222, 0, 34, 234, 14, 226, 0, 0, 4, 0]
}
