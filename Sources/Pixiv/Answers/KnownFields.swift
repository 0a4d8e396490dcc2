package import Rankings
package import Sourcing

/// The checks of `rankfs doctor --service` that only pixiv's answers allow.
extension PixivSource: ExaminableSource {
    package var expectsMultiplexing: Bool { true }

    package func judge(ranking answer: JSON, day: Day?) -> [Assumption] {
        // A masked entry is a slot that is hidden without an account.
        let entries = answer["contents"].elements.filter { $0["mask_reason"].text ?? "" == "" }
        let agreeing = entries.count { entry in
            entry["url"].text.flatMap { PicturePath(url: $0) }?.uploaded == entry["illust_upload_timestamp"].number
        }
        let fields = [
            FieldList.ranking.compare("fields of a ranking", with: [answer]),
            FieldList.entry.compare("fields of an entry", with: entries),
        ]
        if entries.isEmpty { return fields }
        return fields + [
            Assumption(
                "time of upload in the address", holds: agreeing == entries.count,
                "in \(agreeing) of \(entries.count) it is the entry's own, as a time in Japan")
        ]
    }

    package func judge(record answer: JSON) -> [Assumption] {
        guard let body = try? Envelope.body(of: answer) else { return [] }
        let original = body["urls"]["original"].text.flatMap { PicturePath(url: $0) }?.originalReference
        return [
            FieldList.record.compare("fields of a record", with: [body]),
            Assumption(
                "format of the original in the record", holds: original != nil,
                original == nil ? "the record names no original" : "told by its address"),
        ]
    }

    package func judge(list answer: JSON, named name: String) -> [Assumption] {
        guard let body = try? Envelope.body(of: answer) else { return [] }
        let briefs = [body["illusts"], body["works"], body["thumbnails"]["illust"]].flatMap(\.elements)
        let works = briefs.filter { $0["isAdContainer"].flag != true && $0["isMasked"].flag != true }
        return works.isEmpty ? [] : [FieldList.brief.compare("fields of \(name)", with: works)]
    }
}

/// The known fields of the service's answers.
extension FieldList {
    /// An answer of `ranking.php`.
    static let ranking = FieldList(
        decoded: [
            ("contents", .list), ("mode", .text), ("content", .text), ("page", .number), ("next", .numberOrFalse),
            ("date", .text), ("rank_total", .number),
        ],
        passedOver: ["prev", "prev_date", "next_date", "meta", "date_range_text", "zoneConfig"])

    /// An entry of a ranking that is not masked.
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

    /// A work in a list other than a ranking; masked works and advertisements have other fields.
    static let brief = FieldList(
        decoded: [
            ("id", .number), ("title", .text), ("userId", .number), ("userName", .text), ("illustType", .number),
            ("width", .number), ("height", .number), ("pageCount", .number), ("url", .text), ("tags", .list),
            ("aiType", .number),
        ],
        passedOver: [
            "alt", "bookmarkData", "createDate", "description", "isBookmarkable", "isMasked", "isUnlisted",
            "maskReason", "profileImageUrl", "restrict", "seriesId", "seriesTitle", "sl", "titleCaptionTranslation",
            "type", "updateDate", "urls", "visibilityScope", "xRestrict",
        ])

    /// The record in `/ajax/illust/<id>`.
    static let record = FieldList(
        decoded: [
            ("id", .number), ("title", .text), ("userId", .number), ("userName", .text), ("illustType", .number),
            ("width", .number), ("height", .number), ("pageCount", .number), ("urls", .object), ("tags", .object),
            ("viewCount", .number), ("likeCount", .number), ("uploadDate", .text), ("createDate", .text),
            ("description", .text), ("bookmarkCount", .number), ("commentCount", .number), ("xRestrict", .number),
            ("aiType", .number), ("seriesNavData", .objectOrNull), ("locationMask", .flag), ("isLoginOnly", .flag),
        ],
        passedOver: [
            "illustId", "illustTitle", "illustComment", "restrict", "sl", "alt", "storableTags", "userAccount",
            "userIllusts", "likeData", "responseCount", "bookStyle", "isHowto", "isOriginal", "imageResponseOutData",
            "imageResponseData", "imageResponseCount", "pollData", "descriptionBoothId", "descriptionYoutubeId",
            "comicPromotion", "fanboxPromotion", "contestBanners", "isBookmarkable", "bookmarkData", "contestData",
            "zoneConfig", "extraData", "titleCaptionTranslation", "isUnlisted", "request", "commentOff", "reuploadDate",
            "commissionLinkHidden", "noLoginData", "maskReason", "isMasked",
        ])
}
