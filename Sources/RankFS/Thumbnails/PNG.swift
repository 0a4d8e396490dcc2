/// The texts of PNG files, by which thumbnails name their files (PNG specification, second edition).
enum PNG {
    /// Replaces the texts right after the header of a PNG file; returns nil for any other file.
    ///
    /// The texts go before the pixels (IDAT): Tumbler reads no further than `png_read_info` does.
    ///
    /// - Parameters:
    ///   - texts: Keywords and values, without NUL.
    ///   - areInternational: Whether values with other characters than ASCII are marked as UTF-8, as Qt expects and writes them.
    ///     Programs that read thumbnails as Xfce does get them unmarked.
    ///   - file: A PNG file.
    /// - Returns: The file with these texts in place of those after its header.
    static func setting(
        _ texts: [(key: String, value: String)], areInternational: Bool = false, of file: [UInt8]
    ) -> [UInt8]? {
        guard file.starts(with: signature + headerStart), file.count > headerEnd else { return nil }
        var rest = file[headerEnd...]
        while rest.count >= chunkFrame, textChunks.contains(where: rest.dropFirst(4).prefix(4).elementsEqual) {
            rest = rest.dropFirst(chunkFrame + length(of: rest))
        }
        return file[..<headerEnd] + texts.flatMap { chunk($0.key, $0.value, areInternational) } + rest
    }

    /// Returns the texts of a file, at any position; nil if the file is not a PNG.
    ///
    /// Of a truncated file, the texts in the remaining part are returned.
    static func texts(of file: [UInt8]) -> [String: String]? {
        guard file.starts(with: signature) else { return nil }
        var texts: [String: String] = [:]
        var offset = signature.count
        while offset + chunkFrame <= file.count {
            let length = length(of: file[offset...])
            guard offset + chunkFrame + length <= file.count else { break }
            let data = file[offset + 8..<offset + 8 + length]
            // The first text of a key counts: the texts that were set precede all others.
            if let (key, value) = text(file[offset + 4..<offset + 8], data), texts[key] == nil { texts[key] = value }
            offset += chunkFrame + length
        }
        return texts
    }

    // MARK: -

    private static let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    /// Length and type of IHDR (PNG specification, 11.2.2); after another first chunk, no program would find the texts.
    private static let headerStart: [UInt8] = [0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
    /// The length of signature and IHDR, which always has 25 bytes (PNG specification, 11.2.2): texts may follow anywhere.
    private static let headerEnd = 33
    /// The bytes of length, type and checksum of a chunk (PNG specification, 5.3).
    private static let chunkFrame = 12

    /// Returns the length of a chunk's data, from its first four bytes.
    private static func length(of chunk: ArraySlice<UInt8>) -> Int {
        chunk.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }

    /// The types of chunks for text in Latin-1 and in UTF-8 (PNG specification, 11.3.4.3 and 11.3.4.5).
    private static let textChunks = [Array("tEXt".utf8), Array("iTXt".utf8)]
    /// The bytes between keyword and text of an iTXt chunk: not compressed, no language, no translated keyword.
    private static let plain: [UInt8] = [0, 0, 0, 0]

    private static func chunk(_ key: String, _ value: String, _ isInternational: Bool) -> [UInt8] {
        let isLatin = !isInternational || value.utf8.allSatisfy { $0 < 0x80 }
        let data = Array(key.utf8) + [0] + (isLatin ? [] : plain) + Array(value.utf8)
        let body = textChunks[isLatin ? 0 : 1] + data
        return bigEndian(UInt32(data.count)) + body + bigEndian(checksum(body))
    }

    /// Returns keyword and value of a chunk; nil for a chunk without text, or with text in another form than written here.
    private static func text(_ kind: ArraySlice<UInt8>, _ data: ArraySlice<UInt8>) -> (key: String, value: String)? {
        guard let index = textChunks.firstIndex(where: kind.elementsEqual), let end = data.firstIndex(of: 0) else {
            return nil
        }
        var value = data[(end + 1)...]
        if index == 1 {
            guard value.starts(with: plain) else { return nil }
            value = value.dropFirst(plain.count)
        }
        return (String(decoding: data[..<end], as: UTF8.self), String(decoding: value, as: UTF8.self))
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
    }

    /// Returns the CRC-32 of a chunk (PNG specification, annex D).
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~UInt32(0)) { crc, byte in
            (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in crc & 1 == 1 ? 0xedb8_8320 ^ crc >> 1 : crc >> 1 }
        }
    }
}
