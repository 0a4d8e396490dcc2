import Rankings

/// What answers carry for pixiv's own pages and no client reads: advertisements and metadata for search engines.
///
/// It is there so that decoders meet what they meet in life.
enum PageFurniture {
    /// Where advertisements would come from.
    static let zones = AnswerShape.filled("zones")

    /// Titles and descriptions of a page.
    static func meta(title: String, description: String, page: String) -> JSONText {
        AnswerShape.filled("meta", ["title": .text(title), "description": .text(description), "page": .text(page)])
    }
}
