import Catalog
import Rankings
import Synchronization

/// A way from a work to the same work in another mount.
package struct Bridge: Hashable, Sendable {
    /// The name of the link in the work's directory: that of the other source.
    package let name: String
    /// The absolute path that it leads to.
    package let target: String

    package init(name: String, target: String) {
        self.name = name
        self.target = target
    }
}

/// The pages that works come from, of works whose directories were opened.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds.
final class Origins: Sendable {
    /// Works remembered at most; their records are in the database.
    private static let bound = 4096

    private let known = Mutex<[WorkID: String]>([:])

    /// The page of a work; empty for one that comes from nowhere else, nil if it was not looked up.
    func page(of work: WorkID) -> String? {
        known.withLock { $0[work] }
    }

    func remember(_ page: String, of work: WorkID) {
        known.withLock { known in
            if known.count >= Self.bound { known = [:] }
            known[work] = page
        }
    }
}

extension Tree {
    /// Whether works may have bridges.
    private var hasBridges: Bool { configuration.bridge != nil && source.can(.origins) }

    /// Whether it is known at once if a work has a bridge.
    func knowsBridge(of work: WorkID) -> Bool {
        !hasBridges || origins.page(of: work) != nil
    }

    /// Looks up where a work comes from.
    func learnBridge(of work: WorkID) async {
        guard !knowsBridge(of: work) else { return }
        origins.remember(await catalog.records.listedWork(work)?.origin ?? "", of: work)
    }

    /// The bridge of a work whose origin is known; nil if there is none now.
    func bridge(of work: WorkID) -> Bridge? {
        guard hasBridges, let page = origins.page(of: work), !page.isEmpty else { return nil }
        return configuration.bridge?(page)
    }
}
