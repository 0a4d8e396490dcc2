import Catalog
import Fuse
import Glibc
import HTTP
import ImageCache
import RankFS
import Rankings
import Render
import Sourcing
import Tier

/// All parts below a mount, connected: the one place where sources, limits and directories meet.
///
/// ## Concurrency
///
/// Built and closed on the main thread; its parts are used from any thread.
final class Parts: Sendable {
    let transport: CurlTransport
    /// The request queue in front of the transport.
    let queue: RequestQueue
    /// The transport for requests: the queue, or one that refuses every request when offline.
    let network: any Transport
    /// Requests previews and sizes, in the slots that the cache leaves.
    let images: ImageHost
    /// Keeps the reasons why hosts cannot be reached.
    let health: HostHealth
    let notices: DesktopNotices
    let isOffline: Bool
    /// Whether pictures may now be downloaded without a reader: not on a metered network, nor offline.
    let maySpend: @Sendable () -> Bool
    let meter: MeteredNetwork
    let source: any RankingSource
    /// The shared tier; nil if nothing is shared.
    let tier: Tier?
    /// The way to the store of the shared tier.
    let tierMeans: TierMeans?
    let catalog: Catalog
    let cache: ImageCache
    /// Reports events of the cache.
    let reporter: Reporter
    /// Decodes data from outside, in separate processes.
    let renderer: Renderer
    /// The embedded origin, for the source `demo`.
    let origin: EmbeddedOrigin?
    private let settings: Settings
    private let name: SourceName
    /// API requests a second once the burst is spent.
    let rate: Double

    /// High, because the embedded origin belongs to this mount alone: it only slows down a runaway loop.
    private static let demoRate = 200.0
    /// The time after which a request fails on a network that does not answer (Semantics, "Unreachable never means deleted").
    private static let networkBound: Duration = .seconds(15)
    /// The longest wait for a connection: three SYNs and a little.
    private static let connectBound: Duration = .seconds(8)
    /// The longest silence within a transfer; the rest is to come on a new connection within 12 s.
    private static let stallBound: Duration = .seconds(8)
    /// The time by which a request to the service ends before its reader does if it has not had its turn, so that the reader is told why.
    private static let turnMargin: Duration = .seconds(1)

    init(_ settings: Settings, source name: SourceName, place: CachePlace, home: Home, log: Log) throws(ProgramError) {
        self.settings = settings
        self.name = name
        let choices = try name.choices(among: settings.choices)
        origin = name.isEmbedded(settings) ? try EmbeddedOrigin(service: name.description.name) : nil
        let bound = min(Self.networkBound, settings.timeout / 2)
        health = HostHealth(
            proxy: settings.proxy?.authority, now: TimeSource.wallClock, trace: { log.debug(Log.line(of: $0, $1)) },
            tell: { log.record($0) })
        transport = try Self.makeTransport(
            settings, source: name, origin: origin?.url, network: bound, observer: health)
        isOffline = settings.isOffline
        renderer = Renderer(.standard(settings.decoding) { log.warning("nothing is decoded: \($0.text)") })
        let meter = MeteredNetwork(settings.metered) { isMetered in
            log.info(
                isMetered ? "the network is metered: nothing is downloaded ahead" : "the network is metered no longer")
        }
        self.meter = meter
        maySpend = { [isOffline] in !isOffline && !meter.isMetered }
        let notices = DesktopNotices(home)
        self.notices = notices
        // The embedded origin has no users and does not need the user's session.
        let sessions =
            origin == nil ? Self.sessions(settings, source: name, home: home, notices: notices, log: log) : nil
        let means = FollowedMeans(
            agent: settings.userAgent, standard: Version.userAgent, path: home.configurationFile,
            sessions: sessions, site: settings.apiURL?.text ?? name.description.access.apiURL)
        tierMeans = settings.isOffline ? nil : try TierMeans(settings, home: home)
        tier = try tierMeans?.tier(
            settings, source: name, choices: choices, place: place, maySpend: maySpend, log: log)
        queue = Self.makeQueue(
            transport, settings, source: name, place: place, pauses: place.storedHostPauses(), means: { means.look() },
            report: { [tier] news, pauses in
                place.store(hostPauses: pauses)
                log.record(news)
                tier?.note(news, wall: TimeSource.wallClock())
                if case .turnedAway(let sentence) = news {
                    notices.showRefusal(by: name.description.title, sentence)
                }
            })
        network = isOffline ? OfflineNetwork() : queue
        rate = Self.rate(settings, source: name)
        let client = HTTPClient(transport: network)
        let service = name.plugIn.source(
            SourceMeans(
                send: { request throws(Failure) in try await client.send(Self.withTurn(request, settings, bound)) },
                apiURL: settings.apiURL?.text ?? origin?.url, imageURL: settings.imageURL?.text ?? origin?.url,
                sessions: sessions, choices: choices, wallClock: TimeSource.wallClock))
        tier?.pause(queue)
        source = tier?.sharing(service) ?? service
        images = ImageHost(network)
        let reporter = Reporter(now: TimeSource.wallClock) { log.warning($0) }
        self.reporter = reporter
        cache = try Self.openCache(
            settings, source: name, place: place, network: bound, host: images, tier: tier?.pictures,
            mayPreload: maySpend
        ) { log.record($0, reporter) }
        let listings = try place.catalog(showing: name.text(of: choices))
        for directory in [place.catalog, listings] { ImageCache.markInherited(directory: directory) }
        catalog = try Self.openCatalog(
            settings, directory: listings, network: bound, source: source, host: images,
            sharedSizes: tier?.days(of: service.description) { service.signIn },
            log: log)
        // Started last, because a failure above would leave it running.
        meter.start()
    }

    /// A request to the service, with the time for its turn: where something stored can be shown, it has less time for all.
    static func withTurn(_ request: HTTPRequest, _ settings: Settings, _ network: Duration) -> HTTPRequest {
        var request = request
        let isWhole = request.deadline - TimeSource.system.now() > network * 9 / 10
        if isWhole { request.turn = settings.timeout - turnMargin - RequestUrgency.waited }
        return request
    }

    /// The reason why this mount sends no requests to a host with a front.
    func frontSentence(_ host: String, _ pause: HostPause) -> String { name.frontSentence(host, pause, settings) }

    /// What the file system removes from the shared tier; nil if nothing is shared.
    var sharedTier: SharedTier? {
        tier.map { [source] tier in
            (
                forgetPictures: { (pictures) async throws(Failure) in try await tier.forget(pictures) },
                forgetListing: { (listing) async throws(Failure) in try await tier.forget(listing, of: source) }
            )
        }
    }

    /// Whether a listing's pictures stay off the shared tier: the user's own listings, and those that need signing in.
    var isPrivate: @Sendable (ListingKey) -> Bool {
        guard !settings.sharesPrivate else { return { _ in false } }
        return { [source] key in
            key.kind.facts.sharedUnder == nil || source.description.audience(of: key, source.signIn) != .everybody
        }
    }

    private static func rate(_ settings: Settings, source: SourceName) -> Double {
        settings.rate ?? (source.isEmbedded(settings) ? demoRate : source.description.access.rate)
    }

    /// The transport to the hosts of the source and of the settings.
    static func makeTransport(
        _ settings: Settings, source: SourceName, origin: String?, network: Duration,
        observer: (any TransferObserver)? = nil
    ) throws(ProgramError) -> CurlTransport {
        let access = source.description.access
        return try CurlTransport.make(
            CurlTransport.Configuration(
                limits: HostLimits(
                    connections: min(settings.connections, access.connections ?? .max),
                    smallAnswers: access.connections), userAgent: settings.userAgent ?? Version.userAgent,
                proxy: settings.proxy?.text, hosts: access.hosts,
                // Those that the user named, and the embedded one; a proxy is not an origin.
                trustedOrigins: Set([settings.apiURL?.origin, settings.imageURL?.origin, origin].compactMap(\.self)),
                connectTimeout: min(connectBound, network), stallTimeout: min(stallBound, network),
                certificates: settings.certificates), observer: observer)
    }

    /// The queue of requests to the hosts of a source, with the service's cool-down of an earlier run; its texts name the remedies of that
    /// source.
    static func makeQueue(
        _ transport: any Transport, _ settings: Settings, source: SourceName, place: CachePlace,
        pauses: [String: HostPause] = [:], means: @escaping @Sendable () -> AskingMeans = { AskingMeans() },
        report: @escaping @Sendable (RequestQueue.News, [String: HostPause]) -> Void = { _, _ in }
    ) -> RequestQueue {
        var rules = RequestQueue.Rules(wallClock: TimeSource.wallClock)
        rules.rate = RequestRate(
            burst: source.description.access.burst, perSecond: rate(settings, source: source),
            closedUntil: place.storedCoolDown())
        rules.tooOften = source.description.access.tooOften
        rules.pauses = pauses
        rules.means = means
        rules.explain = { source.frontSentence($0, $1, settings) }
        rules.report = { news, pauses in
            if case .serviceClosed(_, let end) = news { place.store(coolDown: end) }
            report(news, pauses)
        }
        return RequestQueue(transport, rules: rules)
    }

    /// The places of the user's session and clearance; nil for a source that takes neither.
    private static func sessions(
        _ settings: Settings, source: SourceName, home: Home, notices: DesktopNotices, log: Log
    ) -> SessionMeans? {
        guard source.plugIn.accounts != nil || source.description.access.takesClearance else { return nil }
        let files = SessionFiles(settings, source: source, home: home)
        return SessionMeans(
            places: files.places, host: files.host, now: TimeSource.wallClock, report: { log.warning($0) },
            expired: { notices.showExpiry(of: source.description.title) })
    }

    private static func openCache(
        _ settings: Settings, source: SourceName, place: CachePlace, network: Duration, host: ImageHost,
        tier: (any PictureTier)?, mayPreload: @escaping @Sendable () -> Bool,
        report: @escaping @Sendable (ImageCacheEvent) -> Void
    ) throws(ProgramError) -> ImageCache {
        var configuration = CacheConfiguration(
            directory: place.directory,
            budget: place.isInMemory ? min(settings.cacheSize, CachePlace.mostInMemory) : settings.cacheSize,
            freeFloor: place.isInMemory ? 0 : settings.cacheFree,
            preload: settings.preload, timeout: settings.timeout, networkTimeout: network, now: TimeSource.wallClock)
        configuration.mayPreload = mayPreload
        configuration.tier = tier
        configuration.placeholder = source.description.access.placeholder
        do throws(Failure) {
            return try place.waitingForEnd { () throws(Failure) in
                try ImageCache(configuration, host: host) { event in
                    switch event {
                    case .directoryRemade, .storingAgain: place.claim()
                    default: break
                    }
                    report(event)
                }
            }
        } catch {
            guard case .busy = error else { throw .cannotCreate(error.cause) }
            throw .unavailable(
                "another rankfs uses the cache directory \(LogText.escaped(place.directory)); "
                    + "unmount that one, end its process (`lslocks` names it) or set cache_dir to another directory.")
        }
    }

    private static func openCatalog(
        _ settings: Settings, directory: String, network: Duration, source: any RankingSource, host: ImageHost,
        sharedSizes: (any SharedSizes)?, log: Log
    ) throws(ProgramError) -> Catalog {
        do throws(Failure) {
            var configuration = CatalogConfiguration(
                directory: directory, days: settings.days,
                view: ListingView(
                    rendition: settings.rendition ?? source.description.standardRendition,
                    allPages: settings.allPages, filter: settings.filter, top: settings.top),
                timeout: network, now: TimeSource.wallClock)
            configuration.version = Version.text
            return try Catalog(configuration, source: source, host: host, sharedSizes: sharedSizes) { log.record($0) }
        } catch {
            throw .cannotCreate("\(LogText.escaped(error.cause, limit: LogText.longestLine)).")
        }
    }

    /// Closes all parts, in the order in which they use each other.
    ///
    /// Blocks; must not be called from a task.
    func close() {
        BlockingCall.wait { [catalog, cache, tier] in
            await catalog.close()
            await cache.close()
            await tier?.close()
        }
        reporter.flush()
        tierMeans?.close()
        renderer.close()
        meter.close()
        transport.shutdown()
        origin?.stop()
    }
}

// MARK: - Bridges

extension SourceName {
    /// The work that a web page shows, in a mount of its source by this user: a link from a work of this source.
    ///
    /// Reads the kernel's mount table and sends no request to a mount: their daemons may be busy with a request of this process.
    ///
    /// - Parameters:
    ///   - webPage: The address of the page.
    ///   - table: The kernel's mount table.
    ///   - user: The user that made the mounts to consider, as in `user_id=` of fuse(4).
    /// - Returns: Nil for a page that does not show a work, and where its source is not mounted.
    func bridge(to webPage: String, _ table: MountTable, user: UInt32 = getuid()) -> Bridge? {
        for plugIn in SourceRegistry.all where plugIn.description.name != description.name {
            guard let work = plugIn.description.work(webPage) else { continue }
            let mount = table.mounts.last { mount in
                mount.isOwn && mount.belongs(to: user)
                    && SourceName(rawValue: mount.source)?.description.name == plugIn.description.name
            }
            guard let mount else { continue }
            let folder = String(decoding: mount.path, as: UTF8.self)
            return (name: plugIn.description.name, target: "\(folder)/\(TreePath.work(work).text)")
        }
        return nil
    }
}

// MARK: - Standard

extension CurlTransport {
    /// A transport, or an error with the reason why there is none.
    static func make(
        _ configuration: Configuration, observer: (any TransferObserver)? = nil
    ) throws(ProgramError) -> CurlTransport {
        do throws(Failure) { return try CurlTransport(configuration, observer: observer) } catch .untrusted(let reason)
        {
            throw .configuration("ca_file: \(reason)")
        } catch {
            throw .system("the network library cannot be started: \(error.cause)")
        }
    }
}

extension Renderer.Configuration {
    /// `rankfs-render` as installed with this program, in as many processes as there are processors.
    static func standard(
        _ decoding: Decoding, report: @escaping @Sendable (MediaError) -> Void = { _ in }
    ) -> Renderer.Configuration {
        var configuration = Renderer.Configuration(
            required: decoding == .confined ? .calls : [],
            program: { () throws(MediaError) in
                guard decoding != .off else { throw .unavailable("decoding=off") }
                do throws(ProgramError) { return try LocalFiles.program(named: Renderer.program) } catch {
                    throw .unavailable(String(error.message.dropLast()))
                }
            }, atOnce: sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        configuration.report = report
        return configuration
    }
}

// MARK: - Settings

extension ThumbnailSeeder {
    /// Makes the thumbnails of a mount; nil if they are off.
    ///
    /// The home is that of the mounting user, and other users' desktops do not read it; shared thumbnails are for all users.
    init?(_ settings: Settings, home: Home, place: CachePlace, mountPoint: String, parts: Parts, log: Log) {
        guard settings.makesThumbnails, settings.decoding != .off else { return nil }
        let store = home.thumbnailDirectory.map { directory in
            HomeThumbnails(
                path: directory, ledger: ThumbnailLedger(path: place.thumbnails), user: geteuid(),
                mountPoint: mountPoint)
        }
        self.init(
            maker: ThumbnailMaker(
                home: store, cache: parts.cache, host: parts.images,
                shared: parts.tier.map { [source = parts.source] in $0.days(of: source.description) { source.signIn } },
                renderer: parts.renderer),
            // Previews that nothing may decode are not downloaded.
            mayAsk: { [maySpend = parts.maySpend, renderer = parts.renderer] in maySpend() && renderer.mayDecode },
            report: { log.debug($0) })
    }
}
