import Rankings
/// The text form of a post's files that listings store.
///
/// The original is written whole; of each other file only the differing middle, since names repeat every tag of a post. The
/// digest, which is a part of most names, is written once, as an asterisk in all others:
///
///     1 png 26463488 3a45…6842 files.example.org/image/*/1%20a%20b.png s:jpg:481240:18:8:.jpg:sample/*/1%20sample
///
/// The database that stores the text may be damaged: a text that is read back is checked as strictly as an answer.
enum PostReference {
    private static let version = "1"
    /// The mark for the digest; no path contains an asterisk (`PictureHosts.place`).
    private static let digestMark: Character = "*"
    /// The names of the files besides the original.
    private static let sample: Substring = "s"
    private static let still: Substring = "t"
    private static let small: Substring = "p"

    /// The files as text.
    static func text(of files: PostFiles) -> String {
        let original = shortened(files.original.place, files.md5)
        let others = [(sample, files.sample), (still, files.still), (small, files.small)].compactMap { name, file in
            file.map { file in
                "\(name):\(file.fileExtension):\(file.size ?? 0):"
                    + difference(of: shortened(file.place, files.md5), from: original)
            }
        }
        let first = [
            version, files.original.fileExtension, String(files.original.size ?? 0), files.md5, original,
        ]
        return (first + others).joined(separator: " ")
    }

    /// Reads a text back; nil for a text that no post of these hosts has.
    static func files(_ text: String, hosts: PictureHosts) -> PostFiles? {
        guard text.utf8.count <= BooruLimits.referenceBytes else { return nil }
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        guard (5...8).contains(fields.count), fields[0] == version, let size = Int64(fields[2]) else { return nil }
        let md5 = String(fields[3])
        guard
            md5.isMD5,
            let original = file(String(fields[4]), fileExtension: fields[1], size: size, md5: md5, hosts: hosts),
            var files = PostFiles(original: original, md5: md5)
        else { return nil }
        for field in fields.dropFirst(5) {
            let parts = field.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
            guard parts.count == 4, let size = Int64(parts[2]),
                let place = place(parts[3], from: String(fields[4])),
                let other = file(place, fileExtension: parts[1], size: size, md5: md5, hosts: hosts)
            else { return nil }
            switch parts[0] {
            case sample: files.sample = other
            case still: files.still = other
            case small: files.small = other
            default: return nil
            }
        }
        return files
    }

    private static func file(
        _ shortened: String, fileExtension: Substring, size: Int64, md5: String, hosts: PictureHosts
    ) -> PostFile? {
        let place = shortened.split(separator: digestMark, omittingEmptySubsequences: false).joined(separator: md5)
        guard PostFormat.all.contains(String(fileExtension)), hosts.isPlace(place) else { return nil }
        return PostFile(place: place, fileExtension: String(fileExtension), size: size)
    }

    // MARK: - Places

    /// The place with the mark in place of the digest.
    private static func shortened(_ place: String, _ md5: String) -> String {
        guard place.utf8.count > md5.utf8.count else { return place }
        var (kept, rest) = ("", place[...])
        while !rest.isEmpty {
            if rest.hasPrefix(md5) {
                kept.append(digestMark)
                rest = rest.dropFirst(md5.count)
            } else if let next = rest.popFirst() {
                kept.append(next)
            }
        }
        return kept
    }

    /// The difference of two places, as in `18:8:.jpg:sample/*/1%20sample`.
    ///
    /// Its parts: the bytes in common at the beginning and, before the suffix, at the end; the suffix; the rest.
    private static func difference(of place: String, from original: String) -> String {
        let (stem, suffix) = parts(of: place)
        let base = Array(parts(of: original).stem.utf8)
        let bytes = Array(stem.utf8)
        let most = min(base.count, bytes.count)
        let beginning = (0..<most).first { base[$0] != bytes[$0] } ?? most
        let end =
            (0..<most - beginning).first { base[base.count - 1 - $0] != bytes[bytes.count - 1 - $0] }
            ?? most - beginning
        let middle = String(decoding: bytes[beginning..<bytes.count - end], as: UTF8.self)
        return "\(beginning):\(end):\(suffix):\(middle)"
    }

    private static func place(_ difference: Substring, from original: String) -> String? {
        let fields = difference.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
        guard fields.count == 4, let beginning = Int(fields[0]), let end = Int(fields[1]) else { return nil }
        let base = Array(parts(of: original).stem.utf8)
        guard (0...base.count).contains(beginning), (0...base.count - beginning).contains(end) else { return nil }
        return String(decoding: base.prefix(beginning), as: UTF8.self) + fields[3]
            + String(decoding: base.suffix(end), as: UTF8.self) + fields[2]
    }

    /// The place without its suffix, and the suffix with its dot; an unusual suffix counts as none.
    private static func parts(of place: String) -> (stem: Substring, suffix: Substring) {
        guard let dot = place.lastIndex(of: "."), place[dot...].utf8.count <= 6, !place[dot...].contains("/"),
            !place[dot...].contains(":")
        else { return (place[...], "") }
        return (place[..<dot], place[dot...])
    }
}
