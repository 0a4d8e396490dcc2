import Boards
import Pixiv
import Rankings
import Sourcing

/// The registry of sources: a new source needs its module and a line here.
enum SourceRegistry {
    /// All sources in the order of help; the first one is mounted if none is named.
    static let all: [any SourcePlugIn] = [PixivPlugIn(), DanbooruEngine()] + MoebooruSite.all.map(MoebooruEngine.init)

    static var standard: any SourcePlugIn { all[0] }

    /// The source with a name; nil if there is none.
    static func plugIn(named name: String) -> (any SourcePlugIn)? {
        all.first { $0.description.name == name }
    }
}
