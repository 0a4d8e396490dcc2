import Catalog
import HTTP
import ImageCache
import RankFS
import Rankings
import System
import Tier

/// Writes events of the parts as log lines.
extension Log {
    /// Logs an event of the catalog.
    func record(_ event: CatalogEvent) {
        switch event {
        case .databaseSetAside(let path, let reason):
            warning(
                "the catalog's database could not be used (\(reason)); it was set aside as \(path) and a new one begun")
        case .entriesUnreadable(let count, let listing, let page):
            let name = LogText.escaped(listing.path.disclosed, limit: 100)
            warning("\(count) entries on page \(page) of \(name) could not be understood and are missing")
        case .notStored(let reason):
            warning("listings cannot be stored (\(reason)); they are served from memory")
        case .originalMissing(let work):
            warning(
                "the image host has no original of work \(work.rawValue); its usual rendition stands in")
        }
    }

    /// Logs that a host cannot be reached, or that it can be reached again.
    func record(_ news: HostHealth.News) {
        switch news {
        case .trouble(let sentence): warning("\(sentence) What is stored can be read meanwhile.")
        case .recovered(let host): info("\(LogText.escaped(host)) answers again")
        }
    }

    /// Logs that the queue begins or ends a pause of a host.
    func record(_ news: RequestQueue.News) {
        switch news {
        case .limited(_, let seconds):
            warning(
                "the image host asks to be left alone for \(DisplayText.duration(seconds)); until then only stored "
                    + "pictures can be read")
        case .serviceClosed(_, let end):
            warning(
                "the service asks to be left alone until \(Log.timestamp(end)); until then only stored listings can be "
                    + "read")
        case .turnedAway(let sentence): warning(sentence)
        case .letIn(let host): info("\(LogText.escaped(host)) lets this program in again")
        }
    }

    /// Logs an event of the image cache; a reporter takes those that come by the hundred.
    func record(_ event: ImageCacheEvent, _ reporter: Reporter) {
        switch event {
        case .preloadFailed(let picture, let error):
            debug("preloading \(picture.key) failed: \(error)")
        case .removedBroken(let picture, let reason):
            reporter.report("what was stored was broken (\(reason)); it will be downloaded again", subject: picture.key)
        case .notStoring(let reason):
            reporter.report("pictures are not stored for now: \(reason)", subject: "")
        case .storingAgain:
            info("pictures are stored again")
        case .directoryRemade(let directory):
            warning(
                "the cache directory \(LogText.escaped(directory)) was removed while it was in use; it was made again, and "
                    + "pictures come anew (`rankfs cache clear` empties it)")
        case .notKept(let picture, let reason):
            reporter.report(
                "it cannot be stored (\(reason)); remove what lies in its place in the cache directory",
                subject: picture.key)
        case .evicted(let count, let bytes):
            debug("evicted \(count) pictures, \(SizeText.text(bytes))")
        case .unmarked(let mark, let reason):
            info("the cache could not be marked with \(mark) against backups: \(reason)")
        case .readableByOthers(let directory):
            warning(
                "other users may read the cache, for the file system of \(LogText.escaped(directory)) keeps no rights; mount it with "
                    + "umask=077, or set cache_dir")
        }
    }

    /// Logs an event of the shared tier.
    func record(_ event: TierEvent) {
        switch event {
        case .became(.works): info("the shared tier works again")
        case .became(.rests(let reason)):
            warning("the shared tier is left alone for a while, for \(reason); the service is asked instead")
        case .became(.picturesRest(let reason)):
            warning("no picture is taken from the shared tier for a while, for \(reason); the service is asked instead")
        case .pauses(let host, let seconds):
            warning(
                "\(LogText.escaped(host)) asked another machine to be left alone; this one asks nothing there for "
                    + DisplayText.duration(seconds))
        case .became(.readOnly(let reason)):
            warning("nothing is brought to the shared tier for a while, for \(reason); what is there is read")
        case .wrongObject(let key):
            warning("the object \(LogText.escaped(key)) on the shared tier is damaged; it will be replaced")
        case .laterVersion(let key):
            warning(
                "a later rankfs wrote \(LogText.escaped(key)) on the shared tier; such objects are neither read nor replaced, and "
                    + "the service is asked instead until rankfs is updated on this machine")
        case .notTaken(let key, let reason):
            warning(
                "the shared tier does not take \(LogText.escaped(key)), for \(LogText.escaped(reason)); it is not tried again"
            )
        }
    }

    // MARK: - Transfer log

    /// The debug line of a request that has ended, with the error in place of the status where there is one.
    ///
    /// As in `picture GET images.example/…/1_p0.jpg: 200, 345.2K in 120 ms`.
    static func line(of request: HTTPRequest, _ outcome: TransferOutcome) -> String {
        var parts: [String] = []
        if let status = outcome.status { parts.append("\(status)") }
        if let failure = outcome.failure { parts.append(failure.cause) }
        let milliseconds = Int64(outcome.duration / .milliseconds(1))
        return "\(request.purpose.rawValue) \(request.method.rawValue) \(shown(request.url)): "
            + "\(parts.joined(separator: ", ")), \(outcome.bytes) B in \(milliseconds) ms"
    }

    /// Query parameters that describe the request and are not secret.
    private static let parameters: Set<String> = ["mode", "content", "date", "p", "offset", "limit"]

    /// An address without its scheme, a user's name, and every part of the query that could be secret.
    static func shown(_ url: String) -> String {
        let whole = url.prefix { $0 != "#" }
        let rest = whole.firstRange(of: "://").map { whole[$0.upperBound...] } ?? whole
        let path = rest.prefix { $0 != "?" }
        let query = rest.dropFirst(path.count + 1)
        let kept = query.split(separator: "&").filter { parameters.contains(String($0.prefix { $0 != "=" })) }
        let shown = RequestQueue.host(of: url) + path.drop { $0 != "/" }
        return shown + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
    }
}
