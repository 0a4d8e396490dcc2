import Rankings
import Synchronization

/// A Moebooru site, yande.re or konachan: its API and its image hosts.
///
/// ## Concurrency
/// Called from the threads of all connections; what changes is behind locks of its own.
final class MoebooruOrigin: OriginRoutes {
    private let configuration: OriginServer.Configuration
    private let universe: PostUniverse
    private let index: PostsByDigest
    private let recordings: BooruRecordings?
    /// Counts answers whose equal entries come in no order.
    private let shuffles = Atomic<UInt64>(0)

    /// Throws one sentence with cause and remedy.
    init(_ configuration: OriginServer.Configuration, _ site: ServedSite) throws(OriginError) {
        self.configuration = configuration
        universe = PostUniverse(seed: configuration.seed, site: site)
        index = PostsByDigest(universe)
        recordings = try BooruRecordings(configuration, site)
    }

    func answer(_ request: Request, _ moment: ServedMoment) -> Response {
        let host = ServedBooruHost(moment: moment)
        if request.path == ServedMoebooruPath.deletedPreview {
            return host.answer(request, ServedMoebooruPath.deletedPicture(universe))
        }
        if let path = ServedMoebooruPath(request.segments) {
            if let recordings { return host.answer(request, recordings.picture(path.rendition, path.digest)) }
            let post = index.post(path.digest, now: moment.now)
            return host.answer(request, post.flatMap { universe.picture(path, of: $0) })
        }
        if let recordings { return recordings.answer(request) ?? .html("404 Not Found", status: 404) }
        let answers = ServedMoebooru(
            universe: universe, index: index, now: moment.now, isOld: configuration.oldRecords, request: request)
        return answers.answer(shuffle: { shuffles.add(1, ordering: .relaxed).newValue })
            ?? .html("404 Not Found", status: 404)
    }

    var placeholder: Picture? {
        ServedMoebooruPath.deletedPicture(universe)
    }
}
