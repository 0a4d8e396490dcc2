/// The texts of PNG files, by which thumbnails tell whose they are (PNG specification, second edition).
package enum PNG {
    /// A file with texts, keywords and values without NUL, in the place of those right behind its header; nil if it is no PNG
    /// file.
    ///
    /// They stand before the pixels (IDAT): Tumbler reads no further than `png_read_info` does.
    ///
    /// - Parameters:
    ///   - texts: Keywords and values, without NUL.
    ///   - areInternational: Whether values outside of ASCII are told to be UTF-8, as Qt wants it and writes it. What Xfce reads
    ///     has them as they are.
    ///   - file: A PNG file.
    /// - Returns: The file with these texts in place of those behind its header.
    package static func setting(
        _ texts: [(key: String, value: String)], areInternational: Bool = false, of file: [UInt8]
    ) -> [UInt8]? {
        guard file.starts(with: signature + headerStart), file.count > headerEnd else { return nil }
        var rest = file[headerEnd...]
        while rest.count >= chunkFrame, textChunks.contains(where: rest.dropFirst(4).prefix(4).elementsEqual) {
            rest = rest.dropFirst(chunkFrame + length(of: rest))
        }
        return file[..<headerEnd] + texts.flatMap { chunk($0.key, $0.value, areInternational) } + rest
    }

    /// The texts of a file, wherever they stand; nil if it is no PNG.
    ///
    /// What is cut off tells the texts that it still has.
    package static func texts(of file: [UInt8]) -> [String: String]? {
        guard file.starts(with: signature) else { return nil }
        var texts: [String: String] = [:]
        var offset = signature.count
        while offset + chunkFrame <= file.count {
            let length = length(of: file[offset...])
            guard offset + chunkFrame + length <= file.count else { break }
            let data = file[offset + 8..<offset + 8 + length]
            // The first of a key counts: those that were set stand in front of what else is there.
            if let (key, value) = text(file[offset + 4..<offset + 8], data), texts[key] == nil { texts[key] = value }
            offset += chunkFrame + length
        }
        return texts
    }

    // MARK: -

    private static let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    /// Length and type of IHDR (PNG specification, 11.2.2); with another one, texts would stand where nobody finds them.
    private static let headerStart: [UInt8] = [0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
    /// Signature and IHDR, which always has 25 bytes (PNG specification, 11.2.2): texts may stand anywhere behind them.
    private static let headerEnd = 33
    /// Length, type and checksum of a chunk (PNG specification, 5.3).
    private static let chunkFrame = 12

    /// The length of a chunk's data, of which its first four bytes tell.
    private static func length(of chunk: ArraySlice<UInt8>) -> Int {
        chunk.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }

    /// Text in Latin-1, and in UTF-8 (PNG specification, 11.3.4.3 and 11.3.4.5).
    private static let textChunks = [Array("tEXt".utf8), Array("iTXt".utf8)]
    /// What stands between keyword and text of an iTXt chunk: not compressed, no language, no translated keyword.
    private static let plain: [UInt8] = [0, 0, 0, 0]

    private static func chunk(_ key: String, _ value: String, _ isInternational: Bool) -> [UInt8] {
        let isLatin = !isInternational || value.utf8.allSatisfy { $0 < 0x80 }
        let data = Array(key.utf8) + [0] + (isLatin ? [] : plain) + Array(value.utf8)
        let body = textChunks[isLatin ? 0 : 1] + data
        return bigEndian(UInt32(data.count)) + body + bigEndian(checksum(body))
    }

    /// Keyword and value of a chunk; nil for what is no text, or none as it is written here.
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

    /// CRC-32 as chunks have it (PNG specification, annex D).
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~UInt32(0)) { crc, byte in
            (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in crc & 1 == 1 ? 0xedb8_8320 ^ crc >> 1 : crc >> 1 }
        }
    }
}
