import CLinux
import Glibc
import Rankings

/// Looks at what a fetch will read, without asking the service for listings.
enum FetchSurvey {
    /// Days that a mount lists whether they are stored or not: the default of `days`.
    private static let listedAnyway = 7
    /// Sizes that the image host does not tell, after which no more are asked for.
    private static let mostFailures = 3

    /// Estimates what paths will cost.
    ///
    /// Blocks: known listings are read, and sizes that are not known yet are asked for.
    ///
    /// - Parameters:
    ///   - paths: Below the mount's root.
    ///   - mount: The mount point.
    ///   - newest: The newest published day.
    /// - Returns: The estimate; what cannot be looked at is left out.
    static func estimate(_ paths: [String], mount: String, newest: Day) -> FetchEstimate {
        var estimate = FetchEstimate()
        var siblings: [String: Set<String>] = [:]
        var failures = 0
        for path in paths {
            let requests = FetchEstimate.requests(for: path)
            if requests > 0 {
                let parent = LocalFiles.parent(of: "/\(path)").flatMap { $0.rest(after: "/") } ?? ""
                if siblings[parent] == nil {
                    let names = (try? MountedFiles.list("\(mount)/\(parent)"))?.map(\.name)
                    siblings[parent] = Set(names ?? [])
                }
                let name = path.pathNames.last ?? ""
                let isRecent = Day(name).map { $0.ordinal > newest.ordinal - listedAnyway } ?? false
                if isRecent || siblings[parent]?.contains(name) != true {
                    estimate.unknownListings += 1
                    estimate.requests += requests
                    continue
                }
            }
            add(path, mount: mount, to: &estimate, &failures)
        }
        return estimate
    }

    private static func add(_ path: String, mount: String, to estimate: inout FetchEstimate, _ failures: inout Int) {
        let full = path.isEmpty ? mount : "\(mount)/\(path)"
        guard let status = try? MountedFiles.status(of: full) else { return }
        guard MountedFiles.kind(status) == .directory else { return count(full, &estimate, &failures) }
        guard let entries = try? MountedFiles.list(full) else { return }
        estimate.knownListings += 1
        estimate.withheld += MountedFiles.withheld(in: full)
        for entry in entries where entry.kind == .file { count("\(full)/\(entry.name)", &estimate, &failures) }
    }

    private static func count(_ file: String, _ estimate: inout FetchEstimate, _ failures: inout Int) {
        estimate.files += 1
        guard failures < mostFailures else {
            estimate.unknownSizes += 1
            return
        }
        guard let status = try? MountedFiles.status(of: file) else {
            failures += 1
            estimate.unknownSizes += 1
            return
        }
        let size = Int64(status.st_size)
        estimate.bytes = estimate.bytes.adding(saturating: size)
        if size == 0, MountedFiles.attribute("user.rankfs.withheld", of: file) != nil {
            estimate.withheld += 1
        } else if MountedFiles.attribute("user.rankfs.state", of: file) == "stored" {
            estimate.stored += 1
            estimate.storedBytes = estimate.storedBytes.adding(saturating: size)
        }
    }
}
