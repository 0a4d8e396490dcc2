import Danbooru
import Moebooru
import Pixiv
import Rankings
import Sourcing

/// The sources that there are: whoever adds one adds its module and a line here.
enum SourceRegistry {
    /// In the order in which help names them; the first one is mounted where none is named.
    static let all: [any SourcePlugIn] = [
        PixivPlugIn(),
        DanbooruPlugIn(),
        MoebooruPlugIn.yandere,
        MoebooruPlugIn.konachan,
    ]

    static var standard: any SourcePlugIn { all[0] }

    /// The one of a name; nil if there is none.
    static func plugIn(named name: String) -> (any SourcePlugIn)? {
        all.first { $0.description.name == name }
    }
}
