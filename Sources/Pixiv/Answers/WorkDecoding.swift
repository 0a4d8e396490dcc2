package import Rankings
import Sourcing

/// Decoders of one work, from each of the three forms in which the service tells one.
///
/// Nil means that the entry cannot be used: no number, or a picture URL of an unknown form. Everything else has a substitute, so that a
/// strange field costs that field only.
package enum WorkDecoding {
    /// An entry of `ranking.php`, with its place.
    package static func ranked(_ entry: JSON) -> ListedWork? {
        guard let rank = entry["rank"].number(in: PixivLimits.ranks) else { return nil }
        var fields = Fields()
        fields.id = entry["illust_id"].number
        fields.title = entry["title"].shortText
        fields.author = entry["user_id"].number
        fields.authorName = entry["user_name"].shortText
        fields.tags = entry["tags"].elements
        fields.kind = entry["illust_type"].number
        fields.width = entry["width"]
        fields.height = entry["height"]
        fields.pageCount = entry["illust_page_count"]
        fields.views = entry["view_count"]
        fields.ratings = entry["rating_count"].isNull ? entry["total_score"] : entry["rating_count"]
        fields.url = entry["url"].text
        fields.maskReason = entry["mask_reason"].text
        fields.uploaded = entry["illust_upload_timestamp"].number(in: AnswerBounds.times)
        guard let work = fields.work else { return nil }
        return ListedWork(
            rank: Int(rank), previousRank: entry["yes_rank"].number(in: PixivLimits.ranks).map { Int($0) }, work: work)
    }

    /// A brief record: author's works, bookmarks, followed authors, searches.
    package static func brief(_ entry: JSON) -> Work? {
        var fields = Fields(brief: entry)
        fields.url = entry["url"].text
        fields.tags = entry["tags"].elements
        return fields.work
    }

    /// The full record of `/ajax/illust/<id>`.
    package static func full(_ body: JSON) -> Work? {
        var fields = Fields(brief: body)
        let urls = body["urls"]
        fields.url = urls["regular"].text ?? urls["original"].text ?? urls["small"].text ?? urls["thumb"].text
        // Whoever may not see a work gets its record with all URLs null.
        if fields.url == nil, !urls.members.isEmpty {
            fields.maskReason =
                fields.maskReason ?? (body["isLoginOnly"].flag == true ? Withheld.loginOnly : Withheld.unnamed)
        }
        // The service tells such a work's record, and says of its pages that there are none.
        if body["locationMask"].flag == true { fields.maskReason = Withheld.location }
        fields.tags = body["tags"]["tags"].elements.map { $0["tag"] }
        fields.views = body["viewCount"]
        fields.ratings = body["likeCount"]
        fields.uploaded = body["uploadDate"].text.flatMap { Timestamp.seconds($0) }
        return fields.work
    }
}

/// Reasons for withholding a work that rankfs gives where the service gives none.
enum Withheld {
    static let unnamed = "withheld"
    /// Not shown in the reader's country.
    static let location = "location"
    /// Rankings say so, records only that it is so.
    static let loginOnly = "login_only"

    /// The reason in a placeholder's URL: `limit_unviewable` of `https://s.pximg.net/common/images/limit_unviewable_s.png`.
    static func reason(ofPlaceholder url: String) -> String? {
        guard let name = url.split(separator: "/").last, name.hasPrefix("limit_") else { return nil }
        let words = name.prefix { $0 != "." }.split(separator: "_").prefix(2)
        let reason = words.joined(separator: "_")
        return plain(reason)
    }

    /// A reason that is one short word of ASCII, as all seen are; any other text is not shown.
    static func plain(_ reason: String) -> String {
        reason.utf8.count <= 64 && reason.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? reason : unnamed
    }
}

/// What the forms have in common, as told, before it is judged.
private struct Fields {
    var id: Int64?
    var title: String?
    var author: Int64?
    var authorName: String?
    var tags: [JSON] = []
    var kind: Int64?
    var width = JSON.null
    var height = JSON.null
    var pageCount = JSON.null
    var views = JSON.null
    var ratings = JSON.null
    var url: String?
    var maskReason: String?
    var isMasked = false
    var uploaded: Int64?
    var aiType: Int64?

    init() {}

    init(brief entry: JSON) {
        id = entry["id"].number
        title = entry["title"].shortText
        author = entry["userId"].number
        authorName = entry["userName"].shortText
        kind = entry["illustType"].number
        width = entry["width"]
        height = entry["height"]
        pageCount = entry["pageCount"]
        maskReason = entry["maskReason"].text
        isMasked = entry["isMasked"].flag == true
        aiType = entry["aiType"].number
    }

    var work: Work? {
        guard let id, id > 0 else { return nil }
        let path = url.flatMap { PicturePath(url: $0) }
        let reason = maskReason.flatMap { $0.isEmpty ? nil : Withheld.plain($0) }
        // A path of another work would show its picture under this one's name.
        let known = path.flatMap { $0.work.rawValue == id ? $0 : nil }
        let withheld =
            reason ?? url.flatMap(Withheld.reason(ofPlaceholder:))
            ?? (isMasked && known == nil ? Withheld.unnamed : nil)
        guard known != nil || withheld != nil else { return nil }
        let counts: ClosedRange<Int64> = 0...Int64.max
        return Work(
            id: WorkID(rawValue: id), title: title ?? "", author: UserID(rawValue: max(author ?? 0, 0)),
            authorName: authorName ?? "", tags: tags.lazy.compactMap(\.shortText).prefix(PixivLimits.tags).map { $0 },
            kind: kind.flatMap { WorkKind(rawValue: Int(truncatingIfNeeded: $0)) } ?? .illustration,
            width: Int(width.number(in: AnswerBounds.pixels) ?? 0),
            height: Int(height.number(in: AnswerBounds.pixels) ?? 0),
            pageCount: Int(pageCount.number(in: 1...Int64(PixivLimits.pages + 1)) ?? 1),
            uploaded: known?.uploaded ?? uploaded ?? 0, views: views.number(in: counts).map { Int($0) },
            ratings: ratings.number(in: counts).map { Int($0) },
            picture: withheld == nil ? known?.reference ?? "" : "", withheld: withheld,
            isAI: isAI)
    }

    /// 0 stands for works from before the service asked, as does no value at all.
    private var isAI: Bool? {
        switch aiType {
        case 1: false
        case 2: true
        default: nil
        }
    }
}
