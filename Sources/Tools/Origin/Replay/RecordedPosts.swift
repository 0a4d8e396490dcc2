import Rankings

/// Recorded posts of a board, each once.
///
/// Their pictures are the universe's models; a record is changed to describe these bytes as the original.
extension Post {
    /// Unix milliseconds of the upload of all recorded posts: 2026-09-27.
    private static let recordedUpload: Int64 = 1_790_500_000_000

    /// The posts of every `*.json` below a directory.
    ///
    /// Throws one sentence with cause and remedy.
    static func recorded(below directory: String, _ seed: UInt64, _ service: Service) throws(Failure) -> [Post] {
        var known: Set<Int64> = []
        return try RecordedFiles.answers(below: directory).flatMap { posts(in: $0.node, seed, service) }
            .filter { known.insert($0.id).inserted }
    }

    private static func posts(in node: JSON, _ seed: UInt64, _ service: Service) -> [Post] {
        post(node, seed, service).map { [$0] } ?? node.children.flatMap { posts(in: $0, seed, service) }
    }

    /// The post of a record; nil if the node is no post of this board, or has no file.
    private static func post(_ node: JSON, _ seed: UInt64, _ service: Service) -> Post? {
        guard let id = node["id"].number, node["md5"].string?.utf8.count == 32, let url = node["file_url"].string,
            let format = Format(rawValue: String(url.split(separator: "." as Character).last ?? "")),
            // One file may hold posts of both Moebooru sites, which number their posts independently.
            service == .danbooru || url.hasPrefix("https://files.yande.re") == (service == .yandere),
            node[service == .danbooru ? "tag_string" : "tags"].string != nil
        else { return nil }
        var chance = Chance(seed, 0xfee, UInt64(bitPattern: id))
        let file = ModelFile(model: chance.pick(Model.numbers[format] ?? [0]), &chance)
        return Post(
            slot: Slot(day: 0, number: 0), id: id, created: recordedUpload, format: format,
            pages: [Model.all[file.model].pixels],
            upScore: 0, account: 0, file: file, recorded: node)
    }

    /// A record with the digest and the length of the served original.
    static func changed(_ record: JSON, _ digest: String, _ length: Int) -> JSON {
        let old = record["md5"].string ?? ""
        func folders(_ digest: String) -> String { "/\(digest.prefix(2))/\(digest.dropFirst(2).prefix(2))/" }
        func changed(_ value: JSON) -> JSON {
            switch value {
            case .string(let text) where text.contains(old):
                .string(text.replacing(old, with: digest).replacing(folders(old), with: folders(digest)))
            case .array(let elements): .array(elements.map(changed))
            case .object(let members):
                .object(
                    members.map { member in
                        let size = member.name == "file_size" ? JSON.integer(Int64(length)) : nil
                        return JSON.Member(name: member.name, value: size ?? changed(member.value))
                    })
            default: value
            }
        }
        return changed(record)
    }
}
