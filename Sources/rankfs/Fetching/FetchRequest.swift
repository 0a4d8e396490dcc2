/// The arguments of `rankfs fetch`.
struct FetchRequest: Hashable, Sendable {
    /// The paths as given, at least one.
    var paths: [String] = []
    /// The folder that files are written to; nil if the mount only stores them.
    var target: String?
    /// Whether each written picture gets a JSON file beside it.
    var sidecars = false
    /// Whether only the estimate is printed.
    var dryRun = false
}
