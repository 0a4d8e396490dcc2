internal import CFuse3

/// The libfuse that the program runs with.
package enum FuseLibrary {
    /// Its version, as `3.14.0`.
    package static var version: String {
        unsafe fuse_pkgversion().map { unsafe String(cString: $0) } ?? "unknown"
    }
}
