import Rankings
import Synchronization

/// A Moebooru site, yande.re or konachan: its API and its image hosts.
///
/// ## Concurrency
/// Called from the threads of all connections; what changes is behind locks of its own.
final class MoebooruRoutes: OriginRoutes {
    private let configuration: OriginServer.Configuration
    private let universe: PostUniverse
    private let index: PostIndex
    /// Counts answers whose equal entries come in no order.
    private let shuffles = Atomic<UInt64>(0)

    /// Throws one sentence with cause and remedy.
    init(_ configuration: OriginServer.Configuration, _ site: PostSite) throws(OriginError) {
        self.configuration = configuration
        universe = PostUniverse(seed: configuration.seed, site: site)
        index = PostIndex(universe)
    }

    func answer(_ request: Request, _ moment: ServedMoment) -> Response {
        let host = BooruHost(moment: moment)
        if request.path == MoebooruPath.deletedPreview {
            return host.answer(request, MoebooruPath.deletedPicture(universe))
        }
        if let path = MoebooruPath(request.segments) {
            let post = index.post(path.digest, now: moment.now)
            return host.answer(request, post.flatMap { universe.picture(path, of: $0) })
        }
        let answers = MoebooruAnswers(
            universe: universe, index: index, now: moment.now, isOld: configuration.oldRecords, request: request)
        return answers.answer(shuffle: { shuffles.add(1, ordering: .relaxed).newValue })
            ?? .html("404 Not Found", status: 404)
    }

    var placeholder: Picture? {
        MoebooruPath.deletedPicture(universe)
    }
}
