import Rankings
import Synchronization

/// A recorded post with a picture drawn for it: what it tells of the original is changed to that of the drawn bytes.
///
/// ## Concurrency
/// May be used from any thread; the picture is drawn under a lock, once.
final class RecordedPost: Sendable {
    let id: Int64
    /// As it was recorded.
    private let node: JSON
    private let site: ServedSite
    private let seed: UInt64
    private let model: PostModel
    private let drawn = Mutex<DrawnModel?>(nil)

    /// Nil for what is no post of the site's engine, or has no file.
    init?(_ record: JSON, site: ServedSite, seed: UInt64) {
        guard let id = record["id"]?.number, record["md5"]?.string?.utf8.count == 32,
            let url = record["file_url"]?.string, let dot = url.lastIndex(of: "."),
            let format = ServedFormat(rawValue: String(url[url.index(after: dot)...])),
            // one file may hold posts of both Moebooru sites, whose numbers are not each other's
            site.isDanbooru || url.hasPrefix("https://files.yande.re") == (site == .yandere),
            record[site.isDanbooru ? "tag_string" : "tags"]?.string != nil,
            let width = record[site.isDanbooru ? "image_width" : "width"]?.number,
            let height = record[site.isDanbooru ? "image_height" : "height"]?.number,
            (1...Self.longest).contains(width), (1...Self.longest).contains(height)
        else { return nil }
        self.id = id
        self.node = record
        self.site = site
        self.seed = seed
        let scale = min(1, (Self.mostPixels / Double(width * height)).squareRoot())
        let pixels = PixelSize(
            width: max(1, Int(Double(width) * scale)), height: max(1, Int(Double(height) * scale)))
        model = PostModel(number: Int(truncatingIfNeeded: id), format: format, pixels: pixels, mostPieces: 400)
    }

    /// The digest of the drawn original; nil without memory.
    var digest: OriginDigest? {
        picture()?.digest(file)
    }

    /// The record with the digest and the length of the drawn original; nil without memory.
    var record: JSONText? {
        guard let picture = picture(), let old = node["md5"]?.string else { return nil }
        let (digest, length) = (picture.digest(file).hex, Int64(picture.length(file)))
        func folders(_ digest: String) -> String { "/\(digest.prefix(2))/\(digest.dropFirst(2).prefix(2))/" }
        func changed(_ value: JSON) -> JSON {
            switch value {
            case .string(let text) where text.contains(old):
                .string(text.replacing(old, with: digest).replacing(folders(old), with: folders(digest)))
            case .array(let elements): .array(elements.map(changed))
            case .object(let members):
                .object(
                    members.map { member in
                        let value: JSON = member.name == "file_size" ? .integer(length) : changed(member.value)
                        return JSON.Member(name: member.name, value: value)
                    })
            default: value
            }
        }
        return JSONText(changed(node))
    }

    /// A file of the post, as long as the record says where it says so; nil without memory.
    func picture(_ rendition: ServedRendition) -> Picture? {
        let key = "recorded \(site.rawValue) \(id) \(rendition.rawValue)"
        guard rendition == .original else {
            var picture = Picture(rendition, of: model, key: key, seed: seed, seconds: Self.uploaded)
            let told = rendition == .wide ? node["sample_file_size"] : rendition == .jpeg ? node["jpeg_file_size"] : nil
            if let bytes = told?.number, bytes > 0, bytes < Self.mostBytes { picture.bytes = Int(bytes) }
            return picture
        }
        return picture().map { Picture($0, file, key: key, seed: seed, seconds: Self.uploaded) }
    }

    // MARK: -

    private static let longest: Int64 = 30_000
    private static let mostPixels = 2_000_000.0
    private static let mostBytes: Int64 = 64 << 20
    /// All on one day: 2026-09-27.
    private static let uploaded: Int64 = 1_790_500_000

    private var file: ServedPostFile {
        var chance = Chance(seed, 0xfee, UInt64(bitPattern: id))
        return ServedPostFile(
            model: 0, level: chance.within(3...DrawnModel.levels), noise: chance.below(ServedPostFile.mostNoise),
            salt: chance.next())
    }

    private func picture() -> DrawnModel? {
        drawn.withLock { drawn in
            if drawn == nil { drawn = DrawnModel(model, seed: seed) }
            return drawn
        }
    }
}
