import Rankings

/// A work as lists of an author's works give it.
enum BriefWork {
    /// The record; what is withheld keeps its number and loses the rest.
    static func json(
        _ work: WorkRecord, _ universe: Universe, for viewer: Viewer, bookmark: JSONText = .null
    ) -> JSONText {
        .object(fields(work, universe, for: viewer, bookmark: bookmark))
    }

    /// The record's keys and values.
    static func fields(
        _ work: WorkRecord, _ universe: Universe, for viewer: Viewer, bookmark: JSONText = .null
    ) -> Members {
        let masked = work.isWithheld(from: viewer)
        let hidden = "-----"
        let title = masked ? hidden : work.title
        let url =
            masked
            ? "https://s.pximg.net/common/images/limit_unviewable_360.png"
            : ServedPath(work, page: 0, kind: .square(size: "250x250_80_a2", custom: isCustom(work))).url
        var fields: Members = [
            ("id", .text("\(work.id.rawValue)")),
            ("title", .text(title)),
            ("illustType", .int(work.kind.rawValue)),
            ("xRestrict", .int(work.xRestrict)), ("restrict", 0), ("sl", work.xRestrict > 0 ? 6 : 2),
            ("url", .text(url)),
            ("description", masked ? "-----" : ""),
            ("tags", .list(masked ? [] : work.tags.map(JSONText.text))),
            ("userId", .text("\(work.author.rawValue)")),
            ("userName", .text(work.authorName)),
            ("width", .int(masked ? 100 : work.pages[0].width)),
            ("height", .int(masked ? 100 : work.pages[0].height)),
            ("pageCount", .int(masked ? 1 : work.pages.count)),
            ("isBookmarkable", .flag(!masked)),
            ("bookmarkData", bookmark),
            ("alt", .text("#\(work.tags.first ?? "") \(title) - \(work.authorName)のイラスト")),
            ("titleCaptionTranslation", .object([("workTitle", .null), ("workCaption", .null)])),
            ("createDate", .text(work.uploaded.iso)),
            ("updateDate", .text(work.uploaded.iso)),
            ("isUnlisted", false),
            ("isMasked", .flag(masked)),
        ]
        if masked { fields.append(("maskReason", work.xRestrict > 0 ? "r18" : "login_only")) }
        fields.append(("aiType", .int(work.aiType)))
        fields.append(("profileImageUrl", .text(universe.portrait(of: work.author, side: 50))))
        return fields
    }

    /// Whether the author chose the part that the thumbnail shows.
    static func isCustom(_ work: WorkRecord) -> Bool {
        work.id.rawValue % 10 == 3
    }
}
