import Catalog
import Rankings

/// The extended attributes of a picture, in the order in which their names are listed.
enum PictureAttribute: String, CaseIterable, Sendable {
    case origin = "user.xdg.origin.url"
    case referrer = "user.xdg.referrer.url"
    case title = "user.dublincore.title"
    case creator = "user.dublincore.creator"
    case tags = "user.xdg.tags"
    case mimeType = "user.mime_type"
    case work = "user.rankfs.work"
    case page = "user.rankfs.page"
    case type = "user.rankfs.type"
    case user = "user.rankfs.user"
    case rank = "user.rankfs.rank"
    case previousRank = "user.rankfs.previous_rank"
    case width = "user.rankfs.width"
    case height = "user.rankfs.height"
    case views = "user.rankfs.views"
    case ratings = "user.rankfs.ratings"
    case posted = "user.rankfs.posted"
    case state = "user.rankfs.state"
    case progress = "user.rankfs.progress"
    case withheld = "user.rankfs.withheld"
    /// The page elsewhere that the work comes from.
    case source = "user.rankfs.source"
    /// Whether it is pinned: `yes` or `no`.
    case kept = "user.rankfs.kept"
    /// The numbers of the pools that contain the post.
    case pools = "user.rankfs.pools"
    /// The author's series that contains the work.
    case series = "user.rankfs.series"

    /// Whether it describes the mount at this moment, or costs a request: programs that copy attributes list them first, and must
    /// not copy this one.
    var isLive: Bool { self == .state || self == .progress || self == .kept || self == .pools }

    /// The longest listed value in bytes: ext4 has one block of 4 KB for all attributes of a file (ext4(5), `ea_inode`), and a copy with
    /// `rsync -X` would fail again and again.
    static let longestListed = 2048

    /// Returns the value in the picture's record; nil for values that the service does not report or that are not in the record.
    func value(in record: ListedWork) -> String? {
        let work = record.work
        switch self {
        case .title: return work.title
        case .creator: return work.authorName
        case .tags: return Self.list(work.tags)
        // It alone distinguishes the still of an animation from other pictures.
        case .type: return "\(work.kind)"
        case .user: return work.author.rawValue > 0 ? String(work.author.rawValue) : nil
        case .previousRank: return record.previousRank.map(String.init)
        case .width: return String(work.width)
        case .height: return String(work.height)
        case .views: return work.views.map(String.init)
        case .ratings: return work.ratings.map(String.init)
        case .withheld: return work.withheld
        case .source: return work.origin
        case .series: return work.series.map(String.init)
        case .origin, .referrer, .mimeType, .work, .page, .rank, .posted, .state, .progress, .kept, .pools: return nil
        }
    }

    /// Whether an entry's record may contain this attribute, so that the record is worth reading.
    func isInRecord(of entry: ListingEntry) -> Bool {
        switch self {
        case .title, .creator, .tags, .type, .user, .width, .height, .views, .ratings, .source, .series: true
        case .previousRank: entry.rank > 0
        case .withheld: entry.isWithheld
        case .origin, .referrer, .mimeType, .work, .page, .rank, .posted, .state, .progress, .kept, .pools: false
        }
    }

    /// Tags as one comma-separated value; a comma inside a tag becomes its full-width twin, as in file names.
    static func list(_ tags: [String]) -> String {
        // By scalars: a comma and a mark that combines with it are one character of Swift's.
        tags.map { String(String.UnicodeScalarView($0.unicodeScalars.map { $0 == "," ? "，" : $0 })) }
            .joined(separator: ",")
    }

    /// The media type of a file name.
    static func mimeType(ofFileNamed name: String) -> String {
        // By bytes: some signs of scripts that precede a number are one character with the dot.
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return switch parts.last.map({ String(decoding: Array($0), as: UTF8.self) }) {
        case "png": "image/png"
        case "zip": "application/zip"
        case "gif": "image/gif"
        case "webp": "image/webp"
        case "avif": "image/avif"
        case "mp4": "video/mp4"
        case "webm": "video/webm"
        default: "image/jpeg"
        }
    }
}
