/// The embedded origin: the API and the image hosts of a service over loopback HTTP, with pictures that it draws itself.
///
/// ## Concurrency
/// May be used from any thread. Serves on threads of its own, one for each connection.
package final class OriginServer: Sendable {
    private let listener: Listener

    /// Starts serving on its own threads.
    ///
    /// Throws one sentence with cause and remedy.
    package init(_ configuration: OriginConfiguration) throws(OriginError) {
        listener = try Listener(OriginService(configuration))
    }

    deinit {
        stop()
    }

    /// `http://127.0.0.1:PORT`, for both `api_url` and `image_url`.
    package var url: String {
        "http://127.0.0.1:\(listener.port)"
    }

    /// Stops serving; open connections are closed.
    ///
    /// Returns when every thread of the origin has ended, well within a second. Calling it again does nothing.
    package func stop() {
        listener.stop()
    }
}
