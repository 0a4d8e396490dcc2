package import Rankings
import Sourcing

/// Decoders of answers about one work, and of one work in each of the three forms in which the service describes it.
///
/// Nil for a work means that the entry cannot be used: it has no number, or a picture URL of an unknown form. Every other field has
/// a substitute, so that an unexpected field costs that field only.
package enum WorkAnswers {
    /// Decodes the full record in `/ajax/illust/<id>`.
    ///
    /// - Parameters:
    ///   - body: The body of the answer.
    ///   - work: The requested work.
    /// - Returns: The record; fields that the answer lacks are nil or empty.
    /// - Throws: `.unreadable` if the record is missing or of another work.
    package static func details(_ body: JSON, of work: WorkID) throws(Failure) -> WorkDetails {
        guard let told = full(body), told.id == work else {
            throw .unreadable("pixiv's record of work \(work.rawValue) makes no sense; pixiv may have changed it.")
        }
        var details = WorkDetails(work: told)
        details.caption = body["description"].text.map { PlainText.fromHTML($0) } ?? ""
        details.tags = body["tags"]["tags"].elements.lazy.compactMap(tag).prefix(PixivLimits.tags).map { $0 }
        details.created = body["createDate"].text.flatMap { Timestamp.seconds($0) }
        details.bookmarks = body["bookmarkCount"].count
        details.comments = body["commentCount"].count
        details.restriction = restriction(body["xRestrict"].number(in: 0...2) ?? 0)
        details.series = body["seriesNavData"]["title"].words
        return details
    }

    /// The service's `xRestrict` as a word.
    private static func restriction(_ number: Int64) -> String {
        switch number {
        case 0: "all"
        case 1: "r18"
        default: "r18g"
        }
    }

    private static func tag(_ told: JSON) -> WorkDetails.Tag? {
        guard let name = told["tag"].words else { return nil }
        let translations = told["translation"]
        let translation = translations["en"].words ?? translations.members.lazy.compactMap(\.value.words).first
        return WorkDetails.Tag(name: name, translation: translation, romaji: told["romaji"].words)
    }

    /// Decodes the frames in `/ajax/illust/<id>/ugoira_meta`.
    ///
    /// - Throws: `.unreadable` if there is no frame, more frames than any animation has, one that cannot be used, or no archive of
    ///   this work.
    package static func animation(_ body: JSON, of work: WorkID) throws(Failure) -> AnimationRecord {
        let archives = ["originalSrc", "src"].lazy.compactMap { body[$0].text.flatMap { ArchivePath(url: $0) } }
        guard let archive = archives.first(where: { $0.work == work }) else {
            throw .unreadable("pixiv tells no usable address of the frames of work \(work.rawValue).")
        }
        guard body["frames"].elements.count <= PixivLimits.frames else {
            throw .unreadable("pixiv tells more than \(PixivLimits.frames) frames of work \(work.rawValue).")
        }
        let told = body["frames"].elements
        let frames = told.compactMap { frame -> AnimationRecord.Frame? in
            guard let file = frame["file"].text, isFrameName(file), let delay = delay(frame["delay"]) else {
                return nil
            }
            return AnimationRecord.Frame(file: file, delay: delay)
        }
        // Without one of its frames it would be another animation.
        guard frames.count == told.count else {
            throw .unreadable("pixiv tells frames of work \(work.rawValue) that make no sense.")
        }
        if frames.isEmpty { throw .unreadable("pixiv tells no frames of work \(work.rawValue).") }
        return AnimationRecord(archive: archive.reference, frames: frames)
    }

    /// The longest time that a frame is shown, in milliseconds, in place of any longer one.
    private static let longestDelay: Double = 600_000

    /// The whole milliseconds for which a frame is shown; nil for anything but a number.
    private static func delay(_ told: JSON) -> Int? {
        let number: Double? =
            switch told {
            case .integer(let number): Double(number)
            case .real(let number): number
            case .string(let text): Double(text)
            default: nil
            }
        guard let number, !number.isNaN else { return nil }
        return Int(min(max(number, 0), longestDelay).rounded())
    }

    /// Whether a name has the form of `000000.jpg`: six digits, as in every archive seen.
    private static func isFrameName(_ name: String) -> Bool {
        name.utf8.count == 10 && name.hasSuffix(".jpg") && name.utf8.prefix(6).allSatisfy(\.isDigit)
    }

    // MARK: - The three forms of a work

    /// Decodes an entry of `ranking.php` with its rank.
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
        fields.series = entry["illust_series"]["illust_series_id"].number
        fields.uploaded = entry["illust_upload_timestamp"].number(in: AnswerBounds.times)
        guard let work = fields.work else { return nil }
        return ListedWork(
            rank: Int(rank), previousRank: entry["yes_rank"].number(in: PixivLimits.ranks).map { Int($0) }, work: work)
    }

    /// Decodes a brief record: of an author's works, bookmarks, followed authors or a search.
    package static func brief(_ entry: JSON) -> Work? {
        var fields = Fields(brief: entry)
        fields.url = entry["url"].text
        fields.tags = entry["tags"].elements
        return fields.work
    }

    /// Decodes the full record of `/ajax/illust/<id>`.
    package static func full(_ body: JSON) -> Work? {
        var fields = Fields(brief: body)
        let urls = body["urls"]
        let addresses = ["regular", "original", "small", "thumb"].compactMap { urls[$0].text }
        fields.url = addresses.first { PicturePath(url: $0)?.work.rawValue == fields.id } ?? addresses.first
        // A reader without permission to see a work gets its record with all URLs null, or none of them.
        let hasNone = urls == .array([]) || body.members.contains { $0.name == "urls" && $0.value.isNull }
        if fields.url == nil, hasNone || !urls.members.isEmpty {
            fields.maskReason =
                fields.maskReason ?? (body["isLoginOnly"].flag == true ? Withheld.loginOnly : Withheld.unnamed)
        }
        // The service returns the record of such a work, and reports its pages as missing.
        if body["locationMask"].flag == true { fields.maskReason = Withheld.location }
        fields.tags = body["tags"]["tags"].elements.map { $0["tag"] }
        fields.series = body["seriesNavData"]["seriesId"].number
        fields.views = body["viewCount"]
        fields.ratings = body["likeCount"]
        fields.uploaded = body["uploadDate"].text.flatMap { Timestamp.seconds($0) }
        return fields.work
    }
}

/// Reasons for withholding a work, from rankfs where the service gives none.
enum Withheld {
    static let unnamed = "withheld"
    /// A list of which no work is shown to the reader.
    static let all = "none is shown"
    /// The work is not shown in the reader's country.
    static let location = "location"
    /// The work needs an account; rankings state this reason, records only the fact.
    static let loginOnly = "login_only"

    /// The reason in a placeholder's URL: `limit_unviewable` of `https://s.pximg.net/common/images/limit_unviewable_s.png`.
    static func reason(ofPlaceholder url: String) -> String? {
        guard let name = PathParts.split(url, at: "/").last, name.hasPrefix("limit_") else { return nil }
        let words = name.prefix { $0 != "." }.split(separator: "_").prefix(2)
        let reason = words.joined(separator: "_")
        return plain(reason)
    }

    /// Returns a reason that is one short ASCII word, as all reasons seen are; any other text becomes `unnamed`.
    static func plain(_ reason: String) -> String {
        reason.utf8.count <= 64 && reason.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? reason : unnamed
    }
}

/// The fields that the forms share, as answered, before they are judged.
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
    var series: Int64?

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
        series = entry["seriesId"].number
    }

    var work: Work? {
        guard let id, id > 0 else { return nil }
        let path = url.flatMap { PicturePath(url: $0) }
        let reason = maskReason.flatMap { $0.isEmpty ? nil : Withheld.plain($0) }
        // A path of another work would show that work's picture under this name.
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
            width: width.pixels, height: height.pixels,
            pageCount: Int(pageCount.number(in: 1...Int64(PixivLimits.pages + 1)) ?? 1),
            uploaded: known?.uploaded ?? uploaded ?? 0, views: views.number(in: counts).map { Int($0) },
            ratings: ratings.number(in: counts).map { Int($0) },
            picture: withheld == nil ? known?.reference ?? "" : "", withheld: withheld,
            isAI: isAI, series: series.flatMap { $0 > 0 ? $0 : nil })
    }

    /// Whether the work was made with AI; nil for 0 (works from before the service recorded it) and for a missing value.
    private var isAI: Bool? {
        switch aiType {
        case 1: false
        case 2: true
        default: nil
        }
    }
}
