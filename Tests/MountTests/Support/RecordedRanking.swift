import Foundation

/// An entry of a ranking as the origin tells it to anybody, read without any code of the program under test.
struct OriginEntry {
    let rank: Int
    /// Empty where works have none.
    let title: String
    let work: Int64
    /// 0 where authors have no number.
    let user: Int64
    /// In seconds since 1970.
    let uploaded: Int64
    /// The path of what a mount shows without options: the 1200-pixel rendition, or a board's original; empty if that is withheld.
    let picture: String
    let isWithheld: Bool
    /// How the names of its files end: with the format of what is shown, or JPEG's where nobody tells it.
    var ending: String { isWithheld ? ".jpg" : ".\(URL(filePath: picture).pathExtension)" }
    /// As the service tells them; of boards in no order that is shown.
    var tags: [String] {
        if let list = fields["tags"] as? [String] { return list }
        let words = fields["tag_string"] as? String ?? fields["tags"] as? String ?? ""
        return words.split(separator: " ").map(String.init)
    }
    let fields: [String: Any]

    init?(_ fields: [String: Any]) {
        guard let rank = fields["rank"] as? Int, let work = fields["illust_id"] as? Int64,
            let url = (fields["url"] as? String).flatMap(URL.init(string:))
        else { return nil }
        self.rank = rank
        self.work = work
        self.fields = fields
        title = fields["title"] as? String ?? ""
        user = fields["user_id"] as? Int64 ?? 0
        uploaded = fields["illust_upload_timestamp"] as? Int64 ?? 0
        picture = url.path.replacingOccurrences(of: "/c/240x480", with: "").replacingOccurrences(
            of: "/c/480x960", with: "")
        isWithheld = url.path.contains("/limit_")
    }

    init(rank: Int, _ post: OriginPost) {
        self.rank = rank
        title = ""
        work = post.id
        user = 0
        uploaded = post.uploaded
        picture = post.picture ?? ""
        isWithheld = post.picture == nil
        fields = post.fields
    }
}

extension OriginProcess {
    /// All entries of a day, asked page by page with curl; the mode is pixiv's, boards are asked for their day.
    func ranking(_ mode: String = "daily", _ day: String = Mount.day) throws -> [OriginEntry] {
        // Flash files are left out; their ranks are gaps.
        guard service == .pixiv else {
            return try posts(day).enumerated().filter { $1.fileExtension != "swf" }.map {
                OriginEntry(rank: $0 + 1, $1)
            }
        }
        var entries: [OriginEntry] = []
        for page in 1...10 {
            let date = day.replacingOccurrences(of: "-", with: "")
            let data = try fetch("/ranking.php?format=json&mode=\(mode)&date=\(date)&p=\(page)")
            guard let answer = try JSONSerialization.jsonObject(with: data) as? [String: Any],
                let contents = answer["contents"] as? [[String: Any]]
            else { throw Failure("page \(page) of \(day) has no contents") }
            entries += contents.compactMap(OriginEntry.init)
            if answer["next"] as? Bool == false { break }
        }
        return entries
    }

    /// The length of a picture as the origin really sends it, by HEAD or, where it does not tell, by the bytes.
    func lengths(of entries: [OriginEntry], in workplace: Workplace) throws -> [String: Int64] {
        let list = workplace.directory.appending(path: "heads.txt")
        let config = entries.map { "url = \"\(direct)\($0.picture)\"" }.joined(separator: "\n")
        try config.write(to: list, atomically: true, encoding: .utf8)
        let output = try workplace.run(
            "curl", "-sI", "-e", "https://www.pixiv.net/", "-w", "\n@ %{url} %{header_json}\n", "-K", list.path)
        var lengths: [String: Int64] = [:]
        var current = ""
        for line in output.output.split(whereSeparator: \.isNewline).map(String.init) {
            if line.lowercased().hasPrefix("content-length:") {
                current = line.split(separator: " ").last.map(String.init) ?? ""
            }
            if line.hasPrefix("@ "), let address = line.split(separator: " ").dropFirst().first.map(String.init) {
                if let length = Int64(current) { lengths[String(address.dropFirst(direct.count))] = length }
                current = ""
            }
        }
        for entry in entries where lengths[entry.picture] == nil {
            lengths[entry.picture] = Int64(try fetch(entry.picture).count)
        }
        return lengths
    }
}
