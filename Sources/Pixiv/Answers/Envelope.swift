package import Rankings
import Sourcing

/// The envelope of most answers: `{"error":bool,"message":string,"body":…}`; rankings have `error` as a string instead.
package enum Envelope {
    /// Returns the body of an answer that is no error.
    ///
    /// - Parameter root: The whole answer.
    /// - Returns: The `body`; an empty object arrives as `[]`.
    /// - Throws: `.notFound` if the service reports that the thing does not exist, `.unreadable` for every other reported error.
    package static func body(of root: JSON) throws(SourceError) -> JSON {
        if let message = error(in: root) { throw refusal(message) }
        let body = root["body"]
        guard !body.isNull else {
            throw .unreadable("pixiv's answer has no body; pixiv may have changed it.")
        }
        return body
    }

    /// The message of an error answer, which may be empty; nil for an answer that is no error.
    package static func error(in root: JSON) -> String? {
        switch root["error"] {
        case .string(let message): message.isEmpty || message == "false" ? nil : message
        case let other: other.flag == true || !other.members.isEmpty ? root["message"].text ?? "" : nil
        }
    }

    /// The error that a message of the service stands for.
    static func refusal(_ message: String) -> SourceError {
        if message.contains("has left pixiv") || message.contains("does not exist") { return .notFound }
        return .unreadable(
            message.isEmpty
                ? "pixiv answered with an error that it does not explain; asking again later may help."
                : "pixiv answered with an error: \(ForeignText.quoted(message)).")
    }
}

// MARK: - Field list

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
