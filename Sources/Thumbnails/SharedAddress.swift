/// How programs spell the address of a file in its directory's shared store, `.sh_thumbnails`.
///
/// The Thumbnail Managing Standard 0.9, section 10, asks for `./` and the percent-encoded name. libxfce4util before March 2024,
/// and Tumbler with it, takes the encoded name alone, pqiv the name as it is. Each compares the text `Thumb::URI` with its own
/// spelling, if at all: so each finds a thumbnail of its own.
package enum SharedAddress {
    /// The spellings of a name, each once.
    package static func all(of name: String) -> [String] {
        let encoded = FileURI.escaped(name)
        return name == encoded ? ["./" + encoded, encoded] : ["./" + encoded, encoded, name]
    }

    /// The digest in a thumbnail's name, `<32 digits>.png`; nil for any other name.
    package static func digest(in name: [UInt8]) -> String? {
        guard name.count == 36, name.suffix(4).elementsEqual(".png".utf8), name.prefix(32).allSatisfy(isDigit) else {
            return nil
        }
        return String(decoding: name.prefix(32), as: UTF8.self)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
