import Rankings

/// Pixiv: its API, its image host and its sessions, made up or from recorded answers.
///
/// ## Concurrency
/// Called from the threads of all connections; what changes is behind locks of its own.
final class PixivOrigin: OriginRoutes {
    private let configuration: OriginServer.Configuration
    private let universe: Universe
    private let recordings: Recordings?
    private let sessions = Sessions()

    /// Throws one sentence with cause and remedy.
    init(_ configuration: OriginServer.Configuration) throws(OriginError) {
        self.configuration = configuration
        universe = Universe(seed: configuration.seed, hasLargePictures: configuration.large)
        if let directory = configuration.replay {
            recordings = try Recordings(directory: directory, seed: configuration.seed)
        } else {
            recordings = nil
        }
    }

    func answer(_ request: Request, _ moment: ServedMoment) -> Response {
        let now = moment.now
        let host = PictureHost(
            seed: configuration.seed, now: now, chunks: configuration.chunks, laterBy: moment.laterBy)
        if let recordings {
            return recordings.answer(request)
                ?? host.answer(
                    request, recordings.picture(at: request.path) ?? HostFixtures.picture(request.path, universe))
        }
        if let answer = DayIndex(universe: universe, host: host, now: now).answer(request) { return answer }
        let viewer = viewer(request)
        if var answer = Routes.answer(request, universe: universe, now: now, viewer: viewer) {
            if let user = viewer.user { answer.headers.append(("X-Userid", "\(user.rawValue)")) }
            return answer
        }
        return host.answer(
            request, universe.picture(at: request.path, now: now) ?? HostFixtures.picture(request.path, universe))
    }

    var placeholder: Picture? {
        HostFixtures.picture("/common/images/limit_unviewable_360.png", universe)
    }

    func isSignedIn(_ request: Request) -> Bool {
        viewer(request).isSignedIn
    }

    func control(_ path: Substring) -> Response? {
        guard path == "/expire-sessions" || path == "/renew-sessions" else { return nil }
        let expire = path == "/expire-sessions"
        sessions.setExpired(expire)
        return .json(.object([("expired", .flag(expire))]))
    }

    /// Whose session a request shows.
    private func viewer(_ request: Request) -> Viewer {
        sessions.viewer(request.session, universe)
    }
}
