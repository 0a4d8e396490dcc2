/// What answers carry for pixiv's own pages and no client reads: advertisements and metadata for search engines.
///
/// It is there so that decoders meet what they meet in life.
enum PageFurniture {
    /// Where advertisements would come from.
    static let zones: JSONValue = .object(
        [
            ("responsive", "illust_responsive_side"), ("rectangle", "illust_rectangle"), ("500x500", "bigbanner"),
            ("header", "header"), ("footer", "footer"), ("expandedFooter", "multiple_illust_viewer"),
            ("logo", "logo_side"), ("relatedworks", "relatedworks"),
        ].map { name, zone in
            (name, .object([("url", .string("https://pixon.ads-pixiv.net/show?zone_id=\(zone)&format=js&s=0"))]))
        })

    /// Titles and descriptions of a page.
    static func meta(title: String, description: String, page: String) -> JSONValue {
        let image: JSONValue = .string("https://embed.pixiv.net/decorate.php?page=\(page)")
        return .object([
            (
                "meta",
                .object([
                    ("title", .string(title)),
                    ("description", .string(description)),
                    ("canonical", .string("https://www.pixiv.net/\(page)")),
                    (
                        "alternateLanguages",
                        .object([
                            ("ja", .string("https://www.pixiv.net/\(page)")),
                            ("en", .string("https://www.pixiv.net/en/\(page)")),
                        ])
                    ),
                    ("descriptionHeader", .string(description)),
                    (
                        "ogp",
                        .object([
                            ("description", .string(description)), ("image", image), ("title", .string(title)),
                            ("type", "article"),
                        ])
                    ),
                    (
                        "twitter",
                        .object([
                            ("description", .string(description)), ("image", image), ("title", .string(title)),
                            ("card", "summary_large_image"),
                        ])
                    ),
                ])
            )
        ])
    }
}
