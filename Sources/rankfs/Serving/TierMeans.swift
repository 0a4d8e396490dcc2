import HTTP
import Tier
import System
import Rankings
import Sourcing

/// The object store that the settings name, and the transport to it: its own, so that neither the tier nor the service waits for the
/// other.
struct TierMeans {
    let store: ObjectStore
    let transport: CurlTransport
    /// What anybody on the way to the store can do, as a sentence; nil if nothing.
    let risk: String?

    /// Object transfers at the same time.
    private static let connections = 16
    /// The time limit of connecting and of silence, after which the request goes to the service instead.
    private static let patience: Duration = .seconds(2)

    /// Nil if the settings name no tier.
    ///
    /// - Throws: configuration, if there is no key for it.
    init?(_ settings: Settings, home: Home) throws(ProgramError) {
        guard let address = settings.tier else { return nil }
        let place = try Self.place(address, settings)
        let keys = try TierKeys.ring(settings, home)
        let secret = try TierKeys.secret(settings, home)
        risk = secret == nil ? settings.tierURL.flatMap(Self.risk) : nil
        // An origin that the user named may be anywhere, also in the local network.
        let isNamed = settings.tierURL != nil
        transport = try CurlTransport.make(
            CurlTransport.Configuration(
                limits: HostLimits(connections: Self.connections), userAgent: Version.userAgent,
                proxy: settings.proxy?.text, hosts: isNamed ? [] : [RequestQueue.host(of: place.origin)],
                trustedOrigins: isNamed ? [place.origin] : [],
                connectTimeout: Self.patience, stallTimeout: Self.patience, certificates: settings.certificates))
        store = ObjectStore(place, keys: keys, secret: secret, transport: RequestQueue(transport))
    }

    /// Makes the shared tier of a mount.
    func tier(
        _ settings: Settings, source: SourceName, choices: [String: String], place: CachePlace,
        maySpend: @escaping @Sendable () -> Bool, log: Log
    ) throws(ProgramError) -> Tier {
        if let risk { log.warning(risk) }
        do throws(DatabaseError) {
            return try Tier(
                store, service: Self.service(source, settings, choices), pictures: Self.service(source, settings, [:]),
                directory: place.catalog, sharesPrivate: settings.sharesPrivate, mayWrite: settings.writesToTier,
                maySpend: maySpend, owner: Self.chanceName()
            ) { log.record($0) }
        } catch {
            close()
            throw .cannotCreate("the list of uploads in \(LogText.escaped(place.catalog)) cannot be used: \(error).")
        }
    }

    /// The name of the service in object keys; it differs wherever the listed works differ, and without choices wherever pictures do.
    static func service(_ source: SourceName, _ settings: Settings, _ choices: [String: String]) -> String {
        let origin =
            settings.apiURL.map { url in
                // Paths have characters that keys lack.
                url.path.isEmpty ? "-\(url.authority)" : "-\(url.authority)-\(XXH3.hex(Array(url.path.utf8)))"
            } ?? ""
        let chosen = source.text(of: choices)
        // What an embedded origin invents is no picture of the service.
        let own = source.isEmbedded(settings) ? source.rawValue : source.description.name
        let name = own + origin + (chosen.isEmpty ? "" : "-" + chosen)
        return String(
            decoding: name.utf8.map { byte in
                (48...57).contains(byte) || (97...122).contains(byte) || byte == 45 || byte == 46 ? byte : 95
            }, as: UTF8.self)
    }

    /// The names of a service in object keys, one for each choice.
    static func services(_ source: SourceName, _ settings: Settings) -> Set<String> {
        let choices = source.description.choices.reduce([[:]]) { (sets: [[String: String]], choice) in
            sets.flatMap { set in choice.words.map { set.merging([choice.name: $0]) { $1 } } }
        }
        return Set(choices.map { service(source, settings, $0) })
    }

    /// Counts of the requests to the object store since the start.
    var requests: RequestCounts {
        transport.requestCounts.first { $0.purpose == .tier }?.counts ?? RequestCounts()
    }

    /// A name that is unique on this machine and all others: letters and digits.
    static func chanceName() -> String {
        var source = SystemRandomNumberGenerator()
        return String(source.next(), radix: 36)
    }

    /// Ends the reading of keys, and closes the transport; blocks, must not be called from a task.
    func close() {
        store.keys.close()
        transport.shutdown()
    }

    private static func place(_ address: BucketAddress, _ settings: Settings) throws(ProgramError) -> StorePlace {
        if settings.tierForm == .host, let url = settings.tierURL, url.isAddress {
            throw .configuration(
                "tier_form=host puts the bucket before the host's name, and \(LogText.escaped(url.origin)) has none; use tier_form=path."
            )
        }
        return StorePlace(
            address, origin: settings.tierURL?.origin, region: settings.tierRegion, form: settings.tierForm,
            owner: settings.tierOwner)
    }

    /// The risk of a store without a secret of the machines that share it; nil for one that is on this machine, or encrypted.
    static func risk(of url: OriginURL) -> String? {
        guard url.origin.hasPrefix("http://"), !url.isLoopback else { return nil }
        return
            "whoever is on the way to \(LogText.escaped(url.origin)) can change what the shared tier shows; name a tier_secret, or "
            + "an https:// store."
    }
}
