import Rankings
import Sourcing

/// The fields of one kind of object in the service's answers: those that are decoded, and those that are known and passed over.
struct FieldList: Sendable {
    /// What a field is read as.
    enum Kind: Sendable {
        case number
        case text
        case list
        case object
        /// A number, or `false` for none.
        case numberOrFalse
        /// An object, or null for none.
        case objectOrNull

        /// Whether a value is of this kind as the decoders see it, which take numbers and strings alike.
        func holds(_ value: JSON) -> Bool {
            switch self {
            case .number: value.number != nil
            case .text: if case .string = value { true } else { false }
            case .list: if case .array = value { true } else { false }
            case .object: if case .object = value { true } else { false }
            case .numberOrFalse: value.number != nil || value == .bool(false)
            case .objectOrNull: value.isNull || !value.members.isEmpty
            }
        }
    }

    let decoded: [(name: String, kind: Kind)]
    let passedOver: Set<String>

    /// Holds objects of the service against the list.
    ///
    /// - Parameters:
    ///   - name: Of the assumption.
    ///   - objects: At least one.
    /// - Returns: Changed if a decoded field is missing or of another kind in any of them; new fields are told, and cost nothing.
    func compare(_ name: String, with objects: [JSON]) -> Assumption {
        var remarks: [String] = []
        for (field, kind) in decoded {
            let missing = objects.count { object in !object.members.contains { $0.name == field } }
            let others = objects.count { object in
                object.members.contains { $0.name == field } && !kind.holds(object[field])
            }
            if missing > 0 { remarks.append("\(field) is missing\(Self.share(missing, objects.count))") }
            if others > 0 { remarks.append("\(field) is of another kind\(Self.share(others, objects.count))") }
        }
        let known = passedOver.union(decoded.map(\.name))
        let new = Set(objects.flatMap { $0.members.map(\.name) }).subtracting(known)
        let holds = remarks.isEmpty
        if holds { remarks.append("all \(decoded.count) that are decoded are there") }
        if !new.isEmpty { remarks.append("new: \(Self.shown(new))") }
        return Assumption(name, holds: holds, remarks.joined(separator: "; "))
    }

    private static func share(_ count: Int, _ all: Int) -> String {
        all == 1 ? "" : " in \(count) of \(all)"
    }

    /// New fields that are named.
    private static let mostNamed = 12
    /// Letters of one that are shown: names of fields are short words.
    private static let longestName = 40

    private static func shown(_ names: Set<String>) -> String {
        let plain = names.filter { name in
            name.utf8.count <= longestName
                && name.utf8.allSatisfy {
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) || $0 == UInt8(ascii: "_")
                }
        }
        let rest = names.count - min(plain.count, mostNamed)
        return (plain.sorted().prefix(mostNamed) + (rest > 0 ? ["\(rest) more"] : [])).joined(separator: ", ")
    }
}

// MARK: - The lists

extension FieldList {
    /// An answer of `ranking.php`.
    static let ranking = FieldList(
        decoded: [
            ("contents", .list), ("mode", .text), ("content", .text), ("page", .number), ("next", .numberOrFalse),
            ("date", .text), ("rank_total", .number),
        ],
        passedOver: ["prev", "prev_date", "next_date", "meta", "date_range_text", "zoneConfig"])

    /// One of its entries that is not masked.
    static let entry = FieldList(
        decoded: [
            ("rank", .number), ("yes_rank", .number), ("illust_id", .number), ("title", .text), ("user_id", .number),
            ("user_name", .text), ("tags", .list), ("illust_type", .number), ("width", .number), ("height", .number),
            ("illust_page_count", .number), ("view_count", .number), ("rating_count", .number), ("url", .text),
            ("illust_upload_timestamp", .number),
        ],
        passedOver: [
            "date", "illust_book_style", "profile_img", "illust_content_type", "illust_series", "attr", "is_masked",
            "is_bookmarked", "bookmarkable", "mask_reason", "total_score",
        ])

    /// The record in `/ajax/illust/<id>`.
    static let record = FieldList(
        decoded: [
            ("id", .number), ("title", .text), ("userId", .number), ("userName", .text), ("illustType", .number),
            ("width", .number), ("height", .number), ("pageCount", .number), ("urls", .object), ("tags", .object),
            ("viewCount", .number), ("likeCount", .number), ("uploadDate", .text), ("createDate", .text),
            ("description", .text), ("bookmarkCount", .number), ("commentCount", .number), ("xRestrict", .number),
            ("aiType", .number), ("seriesNavData", .objectOrNull),
        ],
        passedOver: [
            "illustId", "illustTitle", "illustComment", "restrict", "sl", "alt", "storableTags", "userAccount",
            "userIllusts", "likeData", "responseCount", "bookStyle", "isHowto", "isOriginal", "imageResponseOutData",
            "imageResponseData", "imageResponseCount", "pollData", "descriptionBoothId", "descriptionYoutubeId",
            "comicPromotion", "fanboxPromotion", "contestBanners", "isBookmarkable", "bookmarkData", "contestData",
            "zoneConfig", "extraData", "titleCaptionTranslation", "isUnlisted", "request", "commentOff", "reuploadDate",
            "locationMask", "commissionLinkHidden", "isLoginOnly", "noLoginData", "maskReason", "isMasked",
        ])
}
