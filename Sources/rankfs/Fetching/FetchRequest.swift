/// What `rankfs fetch` is asked for.
struct FetchRequest: Hashable, Sendable {
    /// As given, at least one.
    var paths: [String] = []
    /// Where files are written to; nil if they are only to be stored by the mount.
    var target: String?
    /// A JSON file beside each picture that is written.
    var sidecars = false
    /// Only the estimate.
    var dryRun = false
}
